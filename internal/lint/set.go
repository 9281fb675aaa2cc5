package lint

import "slices"

// Set is all objects that were read together. The first look-up fills an index; after that, and until the set changes,
// any number of goroutines may read it.
type Set struct {
	Objects []*Object
	Pods    []*Pod
	// Skipped are the files of directories that have documents without apiVersion and kind.
	Skipped []string

	index *index
	nodes int // approximate number of nodes that were read
	// platforms are the platforms of images, as their registries list them.
	platforms map[string]Platforms
}

// index finds objects and pods by name and labels without iterating over the whole set.
type index struct {
	objects, pods int // numbers at the time of indexing
	kinds         map[string][]*Object
	named         map[named][]*Object
	// labelled are the pods of a namespace with a label; merged are the pods that get some labels through a YAML merge key.
	labelled map[labelled][]*Pod
	merged   map[string][]*Pod
	windows  []*Pod
}

type named struct{ kind, namespace, name string }

type labelled struct{ namespace, key, value string }

// lookup returns the index of the objects that the set currently contains.
func (s *Set) lookup() *index {
	if s.index != nil && s.index.objects == len(s.Objects) && s.index.pods == len(s.Pods) {
		return s.index
	}
	x := &index{
		objects: len(s.Objects), pods: len(s.Pods), kinds: map[string][]*Object{}, named: map[named][]*Object{},
		labelled: map[labelled][]*Pod{}, merged: map[string][]*Pod{},
	}
	for _, o := range s.Objects {
		x.kinds[o.Kind] = append(x.kinds[o.Kind], o)
		name := named{o.Kind, o.Namespace, o.Name}
		x.named[name] = append(x.named[name], o)
	}
	for _, p := range s.Pods {
		x.place(p)
		p.containers = p.Containers()
		p.hostProcess = new(p.HostProcess())
		namespace := p.Object.Namespace
		if labels := p.Meta.At("labels"); labels.merges() {
			x.merged[namespace] = append(x.merged[namespace], p)
		} else {
			for _, f := range labels.Fields() {
				label := labelled{namespace, f.Key, f.Value.Str()}
				x.labelled[label] = append(x.labelled[label], p)
			}
		}
		if p.Windows() {
			p.volumes = map[string]Value{}
			for _, v := range p.Spec.At("volumes").Items() {
				p.volumes[v.At("name").Str()] = v
			}
			x.windows = append(x.windows, p)
		}
	}
	s.index = x
	return x
}

// place sets whether the pod's RuntimeClass or Node places it on Windows.
func (x *index) place(p *Pod) {
	os := func(kind, name string, path ...string) bool {
		return name != "" && slices.ContainsFunc(x.named[named{kind, "", name}],
			func(o *Object) bool { return o.Root.At(path...).At(LabelOS).Str() == "windows" })
	}
	p.elsewhere = os("RuntimeClass", p.Spec.At("runtimeClassName").Str(), "scheduling", "nodeSelector") ||
		os("Node", p.Spec.At("nodeName").Str(), "metadata", "labels")
	if p.elsewhere && p.Level != OS {
		p.Level = Placed
	}
}

// Kind returns the objects of the given kinds, kind by kind.
func (s *Set) Kind(kinds ...string) []*Object {
	x := s.lookup()
	if len(kinds) == 1 {
		return slices.Clip(x.kinds[kinds[0]])
	}
	var out []*Object
	for _, kind := range kinds {
		out = append(out, x.kinds[kind]...)
	}
	return out
}

// Named returns the objects of a kind with a namespace and a name; there may be several in the input.
func (s *Set) Named(kind, namespace, name string) []*Object {
	return slices.Clip(s.lookup().named[named{kind, namespace, name}])
}

// Selected returns the pods of a namespace whose labels match a Service's selector.
func (s *Set) Selected(selector Value, namespace string) []*Pod {
	fields := selector.Fields()
	if len(fields) == 0 {
		return nil
	}
	x := s.lookup()
	with := slices.Concat(x.labelled[labelled{namespace, fields[0].Key, fields[0].Value.Str()}], x.merged[namespace])
	return slices.DeleteFunc(with, func(p *Pod) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return p.Meta.At("labels", f.Key).Str() != f.Value.Str() })
	})
}

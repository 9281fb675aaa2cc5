package catalogue

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed sizes.tsv
var sizesTSV string

//go:embed retired.tsv
var retiredTSV string

//go:embed series.tsv
var seriesTSV string

// Size is a VM size. The table has its figures; other capabilities follow from its name.
// Source: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions.
type Size struct {
	// Name has Azure's spelling; Family is the quota family of the size's cores.
	Name, Family     string
	VCPUs, MemoryMiB int
	GPUs             int
	// Arm means that the processors are Arm64.
	Arm bool
	// TempGiB and CacheGiB are the sizes of the temporary disk and of the cache on the
	// host, either of which can contain an ephemeral OS disk; NVMeMiB is the size of the
	// local NVMe disks.
	TempGiB, CacheGiB, NVMeMiB int
	// DataDisks is the largest number of data disks.
	DataDisks int

	// The parts of the name: Standard_E16-4ads_v5 has the series E, 4 usable cores (constrained),
	// the features "ads" and the version 5.
	series, features string
	constrained      int
	accelerator      string
	version          int
	promo            bool
}

// RetiredOn returns the day since which Azure starts no machines of the size although the size is
// still listed; "" for other sizes. Source:
// https://learn.microsoft.com/azure/virtual-machines/sizes/retirement/retired-sizes-list.
func (s Size) RetiredOn() string {
	switch {
	case s.Name == "Standard_NC24rs_v3":
		return "2025-03-31"
	case s.series == "NC" && s.version == 3 && s.accelerator == "":
		return "2025-09-30"
	case s.series == "DC" && s.version == 2:
		return "2026-06-30"
	case s.series == "NV" && (s.version == 3 || s.version == 4):
		return "2026-09-30"
	}
	return ""
}

// Sizes returns all sizes, sorted by name as in Azure's list.
var Sizes = sync.OnceValue(func() []Size {
	list := mustRead(sizesTSV, 6, newSize)
	slices.SortFunc(list, func(a, b Size) int { return strings.Compare(a.Name, b.Name) })
	return list
})

var sizesByName = sync.OnceValue(func() map[string]Size {
	out := make(map[string]Size, len(Sizes()))
	for _, s := range append(mustRead(retiredTSV, 6, newSize), Sizes()...) {
		out[strings.ToLower(s.Name)] = s
	}
	return out
})

// SizeNamed returns the size with a name, without case.
func SizeNamed(name string) (Size, bool) {
	s, ok := sizesByName()[strings.ToLower(name)]
	return s, ok
}

// nameParts matches a size's name; its groups are the parts of the name that have a meaning.
var nameParts = regexp.MustCompile(`^(?:Standard|Basic)_([A-Z]+)\d+(?:-(\d+))?([a-z]*)(_\w+?)??(?:_v(\d+))?(_Promo)?$`)

// newSize parses a row of sizes.tsv.
func newSize(f []string) (Size, error) {
	s := Size{Name: f[0], Family: f[1], Arm: f[5] == "Arm64"}
	for i, n := range []*int{&s.VCPUs, &s.MemoryMiB, &s.GPUs} {
		var err error
		if *n, err = strconv.Atoi(f[2+i]); err != nil {
			return s, err
		}
	}
	m := nameParts.FindStringSubmatch(s.Name)
	if m == nil || s.VCPUs == 0 || s.MemoryMiB == 0 {
		return s, fmt.Errorf("size %s has no figures, or a name that is none of Azure's", s.Name)
	}
	s.series, s.features, s.accelerator, s.promo = m[1], m[3], m[4], m[6] != ""
	s.constrained, _ = strconv.Atoi(m[2]) // 0 for none
	if s.version, _ = strconv.Atoi(m[5]); s.version == 0 {
		s.version = 1
	}
	for _, row := range seriesRows() {
		if row.pattern.MatchString(strings.TrimPrefix(s.Name, "Standard_")) {
			s.TempGiB, s.CacheGiB = row.temp.of(s.VCPUs, 1), row.cache.of(s.VCPUs, 1)
			s.DataDisks = max(1, min(row.most, row.disks.of(s.VCPUs, 1)))
			s.NVMeMiB = row.nvme.of(s.VCPUs, 1024)
			break
		}
	}
	return s, nil
}

// seriesRow is a row of series.tsv.
type seriesRow struct {
	pattern                  *regexp.Regexp
	temp, cache, disks, nvme figure
	most                     int
}

var seriesRows = sync.OnceValue(func() []seriesRow {
	return mustRead(seriesTSV, 6, func(f []string) (r seriesRow, err error) {
		if r.pattern, err = regexp.Compile("^(?:" + f[0] + ")$"); err != nil {
			return r, err
		}
		if r.most, err = strconv.Atoi(f[4]); err != nil {
			return r, err
		}
		for i, to := range map[int]*figure{1: &r.temp, 2: &r.cache, 3: &r.disks, 5: &r.nvme} {
			if *to, err = newFigure(f[i]); err != nil {
				return r, err
			}
		}
		return r, nil
	})
})

// figure is a number for the whole size or for each of its vCPUs.
type figure struct {
	n    float64
	each bool
}

func newFigure(text string) (figure, error) {
	number, each := strings.CutSuffix(text, "*")
	n, err := strconv.ParseFloat(number, 64)
	return figure{n, each}, err
}

// of returns the figure for a number of vCPUs, multiplied by smaller to convert its unit.
func (f figure) of(vcpus int, smaller float64) int {
	if f.each {
		return int(math.Round(f.n * smaller * float64(vcpus)))
	}
	return int(f.n * smaller)
}

// mustRead parses an embedded table: fields are separated by tabs, "#" begins a comment. It panics
// if the table is invalid; any test of the package finds that.
func mustRead[T any](table string, fields int, row func([]string) (T, error)) []T {
	var out []T
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != fields {
			panic(fmt.Sprintf("the row %q has %d fields, not %d", line, len(f), fields))
		}
		v, err := row(f)
		if err != nil {
			panic(fmt.Sprintf("the row %q: %v", line, err))
		}
		out = append(out, v)
	}
	return out
}

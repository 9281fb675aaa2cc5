# Every target is one line of shell; what is longer is Go or a script in hack/.
comma := ,
KUBE_LDFLAGS := $(shell hack/kube-ldflags.sh)
# All but the packages that embed Kubernetes, whose tests take a minute to link: 'make e2e-quick' has them.
OWN := $$(go list ./... | grep -v -e /cmd/casement-kube -e /internal/controlplane)
# The quick start is the one cluster that 'make test' makes. What takes longest comes first, so that it does not run alone in the end.
LONGEST := ./test/apiserver/integration ./test/apiserver/why ./internal/sim/guest/shell ./internal/helm ./test/e2e/quickstart
TESTED := $(LONGEST) $$(go list ./... | grep -v -e /cmd/casement-kube -e /internal/controlplane -e /test/e2e/)
CELLS := ./test/e2e/life $$(go list ./test/e2e/... ./internal/controlplane/... ./cmd/casement-kube | grep -v /quickstart)
# Tests that use up what a guest or a chart may use: the bounds are those of a process without the race detector.
BOUNDS := ^Test(Hostile(Scripts|Archives|Indexes|Documents)|ScriptsOfOneText|OutOfMemory|BoundedTemplates|Exceeded)
# Tests of many rows that count calls or read refusals: other tests run the same goroutines under the race detector.
ROWS := ^Test(BentRequests|Calls|NonsenseMachines|NonsenseClusters|AdoptPool|PatchDayPool|BootstrapSecrets)$$
TOOL := go tool -modfile=hack/tools/go.mod

# Every e2e, and the demo, make clusters of this Kubernetes where it is given: K8S=v1.36.3. Upgrades end there, and begin at FROM,
# else at the first release of the minor before.
ifdef K8S
export KUBERNETES_VERSION := $(K8S)
export KUBERNETES_VERSION_UPGRADE_TO := $(K8S)
export KUBERNETES_VERSION_UPGRADE_FROM := $(or $(FROM),$(shell echo $(K8S) | awk -F. '{ print $$1 "." $$2 - 1 ".0" }'))
endif

.DEFAULT_GOAL := help

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: bin/casement bin/casement-manager bin/casement-kube ## Build the three binaries into bin/

bin/casement bin/casement-manager: FORCE
	go build -o $@ ./cmd/$(@F)

bin/casement.exe: FORCE
	hack/client.sh windows amd64 $@

bin/e2e-azure: FORCE
	go build -o $@ ./test/e2e/azure

bin/kubeconform: hack/tools/go.mod
	go build -modfile=$< -o $@ github.com/yannh/kubeconform/cmd/kubeconform

bin/kwok: hack/tools/kwok/go.mod
	go build -modfile=$< -o $@ sigs.k8s.io/kwok/cmd/kwok

# What kwok's releases have as stage-fast.yaml, from its module.
bin/kwok.yaml: hack/tools/kwok/go.mod bin/kwok
	cd $$(go list -modfile=$< -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage && sed -s '$$a---' node/fast/node-*.yaml node/heartbeat-with-lease/node-*.yaml pod/fast/pod-*.yaml > $(CURDIR)/$@

plugin: bin/casement ## Make bin/ a folder of kubectl plugins: kubectl casement, with completions
	ln -sf casement bin/kubectl-casement && ln -sf casement bin/kubectl_complete-casement

bin/casement-kube: FORCE
	go build -ldflags '-s -w $(KUBE_LDFLAGS)' -o $@ ./cmd/$(@F)

programs: bin/casement-manager ## Build what clusterctl and its images stand for: bin/clusterctl and bin/programs/
	hack/programs.sh

demo: build ## From nothing to a Windows cluster that serves a page; K8S=v1.36.3 for another Kubernetes
	PATH="$(CURDIR)/bin:$$PATH" hack/demo.sh

recording: build ## Run the demo and write docs/demo.svg, the recording that the README shows
	CASEMENT_DEMO_KUBECONFIG="$$HOME/demo.kubeconfig" PATH="$(CURDIR)/bin:$$PATH" go run ./hack/record -title 'make demo' docs/demo.svg hack/demo.sh

down: ## End the local plane and delete its state
	bin/casement down --purge

unit: ## The tests that need no built program, without the race detector
	go test $$(hack/unit.sh)

fuzz: ## Mutated scripts and documents of all kinds that guests interpret; N each, SEED, INPUTS=DIR with more
	TMPDIR=$(firstword $(wildcard /dev/shm) /tmp) GOTMPDIR=/tmp go test ./test/emulator/mutants -count=1 -timeout 24h -run TestMutants -mutants $(or $(N),100000) -seed $(or $(SEED),1) $(if $(INPUTS),-inputs $(abspath $(INPUTS)))

ifdef PKG
test race: PACKAGES = $(PKG) -run '$(RUN)'
else
test race: build
test: PACKAGES = $(TESTED)
race: PACKAGES = $$(hack/raced.sh)
endif

test: ## Vet, the unit and API server tests and the quick start; PKG=./internal/x/... RUN=TestY for some
	go vet $(if $(PKG),$(PKG),$(OWN))
	hack/test.sh -p 4 -timeout 45m $(PACKAGES) # packages wait for planes more than they compute

race: ## The race detector over all that starts goroutines or shares state (hack/raced.sh); PKG= RUN= for some
	hack/test.sh -race -timeout 45m $(if $(RUN),,-skip '$(BOUNDS)|$(ROWS)') $(PACKAGES)

e2e-quick: build ## A part of each end-to-end test that needs no more than this machine, and the tests of what embeds Kubernetes
	hack/test.sh -p 4 -timeout 30m $(CELLS)

e2e: build ## Every kind of cluster, its whole life, and 20 crashes; TEMPLATES=DIR adds templates of CAPZ v1.0.0
	go test -timeout 60m -count=1 -v ./test/e2e/matrix -full -templates "$(TEMPLATES)"
	go test -timeout 120m -count=1 -v ./test/e2e/life -full
	go test -timeout 60m -count=1 -v ./test/e2e/crash -moments 20
	$(MAKE) e2e-ssh
	$(MAKE) e2e-faults
	$(MAKE) e2e-images
	$(MAKE) e2e-gmsa
	$(MAKE) e2e-repair
	$(MAKE) e2e-docs
	$(MAKE) e2e-guide
	$(MAKE) e2e-ui
	$(MAKE) e2e-clusterctl
	$(MAKE) e2e-helm
	go test -timeout 10m -count=1 -v ./test/e2e/addons
	go test -timeout 10m -count=1 -v ./test/emulator/lro -rounds 10
	go test -timeout 15m -count=1 -v ./test/e2e/privilege -full
	go test -timeout 10m -count=1 -v ./test/e2e/stranger
	$(MAKE) e2e-hostile
	$(MAKE) e2e-sdk
	$(MAKE) e2e-azure REHEARSE=1
	go test -timeout 60m -count=1 -v ./test/e2e/azure -full

e2e-ssh: build ## ssh, scp, sftp and Remote Desktop's negotiation against a local plane
	go test -timeout 10m -count=1 -v ./test/e2e/ssh -full

e2e-hostile: build ## Some 120 hostile documents, each a machine's custom data: memory, stop, delete, restart; static pods that reach out; ONLY=part of a name
	go test -timeout 0 -count=1 -v ./test/e2e/hostile -full -only "$(ONLY)"
	go test -timeout 30m -count=1 -v ./test/e2e/loopback -full

e2e-wine: bin/casement.exe ## The client for Windows under wine, which is installed where root can (Debian); else skipped with the reason
	hack/e2e-wine.sh

e2e-ui: build ## The page of casement ui in chromium: a cluster's life, 500 machines; screenshots in bin/ui/
	go test -timeout 30m -count=1 -v ./test/e2e/ui -full

e2e-guide: build ## The promises of the Windows guides, row by row, on a local plane
	go test -timeout 30m -count=1 -v ./test/e2e/guide -full

e2e-docs: build ## Every command of the README and the book, line by line, on a local plane
	go test -timeout 30m -count=1 -v ./test/e2e/docs -full

e2e-faults: build ## Some 40 faults, and what casement why calls each
	go test -timeout 60m -count=1 -v ./test/e2e/faults -full

e2e-patchday: build ## A patch day on a local plane: 3 clusters, 5 pools of NODES=8, a client that counts, images that fail
	go test -timeout 120m -count=1 -v ./test/e2e/patchday -full -nodes $(or $(NODES),8)

e2e-images: build ## Node images on a local plane: three releases, 20 kills, failures, a pool that moves; KILLS= SEED= LATENCY=
	go test -timeout 60m -count=1 -v ./test/e2e/images -full -kills $(or $(KILLS),20) -seed $(or $(SEED),20348) -latency $(or $(LATENCY),0.01)

e2e-gmsa: build ## gMSA on a local plane: machines join a simulated domain, an IIS pod has its identity, each failure is named
	go test -timeout 30m -count=1 -v ./test/e2e/gmsa -full

e2e-kubelet: bin/casement-kube ## The real kubelet (a hollow node) judges the simulated one by pairs of pods; DIFF=1 lists what differs
	go build -tags hollow -o bin/hollow ./test/e2e/kubelet/hollow
	go test -timeout 10m -count=1 -v ./test/e2e/kubelet -full $(if $(DIFF),-differences)

e2e-metrics: bin/casement-kube ## metrics-server itself reads simulated kubelets: METRICS_SERVER=PATH of its program
	go test -timeout 15m -count=1 -v -run TestMetricsServer ./test/e2e/kubelet -metrics-server $(abspath $(METRICS_SERVER))

e2e-repair: build ## Each fault that windows-node-repair repairs in place, the requests lost meanwhile, and a bound that is reached
	go test -timeout 30m -count=1 -v ./test/e2e/repair -full

e2e-powershell: ## PowerShell of image builds, addons and flavors, parsed by tree-sitter's grammar (node, npm's registry) and by a real parser: PWSH=, and SCRIPTS=FOLDER of others' scripts
	go test -timeout 20m -count=1 -v ./test/e2e/powershell -full $(if $(PWSH),-pwsh "$(PWSH)") $(if $(SCRIPTS),-scripts "$(SCRIPTS)")

e2e-helm: build programs ## Helm itself installs, upgrades and uninstalls our chart on a bare plane
	go test -timeout 10m -count=1 -v ./test/e2e/helm -full

e2e-clusterctl: build programs ## The real clusterctl: init, generate, describe, upgrade (from an earlier manager too), move
	go test -timeout 90m -count=1 -v ./test/e2e/clusterctl -full

e2e-leader: build programs ## Two replicas of casement-manager, the leader killed KILLS=50 times from SEED, and UPGRADES=1 forth and back while LOAD=50 machines are made, with tables
	go test -timeout 0 -count=1 -v ./test/e2e/clusterctl -full -run 'TestLeader|TestUpgradeUnderLoad' -kills $(or $(KILLS),50) -seed $(or $(SEED),20348) -load $(or $(LOAD),50) -upgrades $(or $(UPGRADES),1)

e2e-autoscaler: build ## The real cluster-autoscaler sizes groups of Windows nodes, with a table: AUTOSCALER=PATH of the program, ONLY=part of a kind of group
	go test -timeout 90m -count=1 -v ./test/e2e/autoscaler -autoscaler "$(AUTOSCALER)" $(if $(ONLY),-only "$(ONLY)")

e2e-capi: build provider ## Cluster API's own specs against a local plane, with a table; ONLY=regular expression of names, UPSTREAM=1 as upstream ships it
	cd test/e2e/capi && go test -tags e2e -timeout 0 -count=1 -v . -only "$(ONLY)" -logs $(CURDIR)/bin/capi $(if $(UPSTREAM),-upstream)

e2e-capz: build programs ## CAPZ's manager and casement's side by side: CAPZ=DIR of a release and its programs (docs/capz.md), WORKERS= LATENCY= IDLE=
	go test -timeout 0 -count=1 -v ./test/e2e/capz -capz "$(CAPZ)" $(if $(WORKERS),-workers $(WORKERS)) $(if $(LATENCY),-latency $(LATENCY)) $(if $(IDLE),-idle $(IDLE))

e2e-guests: ## Guests against the real dash, bash, jq, cloud-init, (CLOUDBASE_INIT_PYTHONPATH) cloudbase-init and (PWSH) PowerShell; DIFF=1 lists what differs
	hack/e2e-guests.sh $(if $(DIFF),-differences)

e2e-guests-linux: ## Linux guests against this machine's bash and tools, in namespaces of their own: recorded scripts and 5,000 generated ones; SEED= SCRIPTS= DIFF=1, UPDATE=1 records again
	go test -timeout 40m -count=1 -v ./test/emulator/guests -run TestLinux -real -seed=$(or $(SEED),1) -generated=$(or $(SCRIPTS),5000) $(if $(DIFF),-differences) $(if $(UPDATE),-update)

e2e-guests-wine: ## Wine's tests of cmd, whose lines were checked on Windows, in guests: WINE=DIR of its unpacked source, which no commit has; DIFF=1 lists what differs
	go test -timeout 10m -count=1 -v ./test/emulator/guests -run TestWine -wine=$(abspath $(or $(WINE),$(error WINE=DIR: a folder of Wine's source, from Debian's source package of wine 10.0))) $(if $(DIFF),-differences)

e2e-sdk: ## The Azure SDK's published example programs against the local Azure
	go run ./test/emulator/sdk

e2e-templates: build ## Templates that others wrote, unchanged: Ready, scaled, deleted; DIR=FOLDER ONLY=part of a name
	go test -timeout 120m -count=1 -v ./test/e2e/templates -dir "$(DIR)" -only "$(ONLY)"

e2e-reports: build ## What lint and preflight say of public reports, against the .want beside each, and on a plane preflight and why, by .steps; DIR=FOLDER
	go test -timeout 30m -count=1 -v ./test/e2e/reports -full $(if $(DIR),-dir "$(abspath $(DIR))")

e2e-releases: bin/casement ## Templates of every release of CAPZ from v1.10 on filled, linted and preflighted; CAPZ=CLONE with its tags
	rm -rf bin/releases && hack/capz-templates.sh "$(CAPZ)" bin/releases
	go test -timeout 60m -count=1 -v ./test/e2e/templates -run TestReleases -releases $(CURDIR)/bin/releases

e2e-spec: ## Azure's own description judges what casement asks for and what the local Azure answers: a table per type; part of 'make test' too
	go test -count=1 -v ./azuresim -run TestSpec

azure-types: ## Azure's description of its types again, from a clone: make azure-types FROM=CLONE of Azure/bicep-types-az ADD=TYPE@API-VERSION
	go run ./hack/azuretypes -from "$(FROM)" $(ADD)
	hack/generate.sh

e2e-recordings: ## Recorded traffic of real Azure replayed against the local one: a table per type; DIFF=1 lists what differs
	go test -timeout 20m -count=1 -v ./test/emulator/recordings -full $(if $(DIFF),-differences)

e2e-tofu: $(if $(and $(TOFU),$(AZURERM)),bin/casement) ## OpenTofu or Terraform with its provider azurerm against the local Azure, with a table: TOFU=PATH of the program, AZURERM=PATH of the provider, ONLY=part,of files
	$(if $(and $(TOFU),$(AZURERM)),,$(error TOFU=PATH of tofu or terraform and AZURERM=PATH of terraform-provider-azurerm, which docs/local-azure.md says how to build))
	go test -timeout 90m -count=1 -v ./test/e2e/tofu -tofu "$(abspath $(TOFU))" -azurerm "$(abspath $(AZURERM))" $(if $(ONLY),-only "$(ONLY)")

e2e-azure: bin/casement bin/casement-kube bin/e2e-azure ## Two clusters' lives in the subscription of the environment, with a report; costs money: docs/real-azure.md; REHEARSE=1 in a local Azure
	bin/e2e-azure $(if $(REHEARSE),-rehearse)

e2e-chaos: build ## Kills, stops and faults at random moments: make e2e-chaos SEED=n ROUNDS=m FURY=f LIVES=k; writes bin/chaos.svg
	go test -timeout 0 -count=1 -v ./test/apiserver/integration -run 'TestLifeAmongFaults|TestManagersAtOnce' -parallel 6 -seed $(or $(SEED),1) -lives $(or $(LIVES),8) -machines 40
	go test -timeout 0 -count=1 -v ./test/e2e/chaos -seed $(or $(SEED),1) -rounds $(or $(ROUNDS),24) -fury $(or $(FURY),1) -plot $(CURDIR)/bin/chaos.svg

compare-templates: bin/casement ## Recorded answers of Azure's template engine against a running local Azure: RECORDED=FOLDER with compare.py, after eval "$$(casement azure env)"
	python3 "$(RECORDED)/compare.py" all --report bin/template-verdicts.tsv

quickstarts: ## Public templates expand as Azure's engine does, and deploy; DIR=FOLDER with the repositories as OWNER/NAME at the recorded commits
	QUICKSTARTS="$(DIR)" go test -count=1 -v ./azuresim/template ./azuresim -run TestQuickstarts

e2e-az: bin/casement ## The az command line against the local Azure; writes what it proves
	go test -race -timeout 60m -count=1 ./azuresim -run TestLoad -lives 12
	hack/e2e-az.sh -evidence test/emulator/az/evidence.tsv

bench: build bin/kubeconform ## Measure the budgets on this machine
	go run ./test/bench

bench-lint: build bin/kubeconform ## Measure the budgets of casement lint alone
	go run ./test/bench -vms 0 -paper 0 -nodes -1

bench-scale: build bin/kwok bin/kwok.yaml ## What clusters of several sizes cost, kwok's bare nodes too: make bench-scale KINDS=deployment,pool,kwok SIZES=50,100; REQUESTS=1 lists who asks what, LOAD=30 beside that many busy processes; writes bin/scale.svg
	go run ./test/bench -scale $(or $(KINDS),deployment$(comma)pool$(comma)kwok) $(if $(REQUESTS),-requests) $(if $(LOAD),-load $(LOAD)) -sizes $(or $(SIZES),50$(comma)100$(comma)200$(comma)400$(comma)1000) -svg $(CURDIR)/bin/scale.svg

bench-manager: build ## What MACHINES=2000 of CLUSTERS=1, POOLS=0 and SUBSCRIPTIONS=1 cost one casement-manager: creation, REST=1m, a rollout of ROLL=0, ARRIVING=0 (all at once) objects a second, an OUTAGE=1m, recovery, a day DAY=0 times as fast; THROTTLE=1 limits requests as Azure does, SHARDS=namespace or filter runs two
	go run ./test/bench -manager $(or $(MACHINES),2000) -clusters $(or $(CLUSTERS),1) -pools $(or $(POOLS),0) -subscriptions $(or $(SUBSCRIPTIONS),1) -shards "$(SHARDS)" -throttle $(or $(THROTTLE),0) -rest $(or $(REST),1m) -arriving $(or $(ARRIVING),0) -roll $(or $(ROLL),0) -outage $(or $(OUTAGE),1m) -day $(or $(DAY),0)

bench-fleet: build ## What fifty clusters of three machines cost at the same time: make bench-fleet CLUSTERS=50, LOAD=30 beside busy processes
	go run ./test/bench -fleet $(or $(CLUSTERS),50) $(if $(LOAD),-load $(LOAD))

provider: ## Write the files of the clusterctl provider to bin/provider/, for Tilt and e2e frameworks: docs/developers.md
	go run ./hack/release --dir bin/provider --image ghcr.io/casement-dev/casement-manager:dev --version v0.1.0-dev && echo 'resources: [infrastructure-components.yaml]' > bin/provider/kustomization.yaml

book: ## Make the pages of docs/ into a book of HTML with a search, dist/book/index.html; V=v0.2.0 names its version, ALSO=v0.1.0 are tags beside it
	go run ./hack/book -out dist/book -version $(or $(V),main) -also "$(ALSO)"

headlamp: ## Test and build the plugin for Headlamp into dist/headlamp/ (node, npm's registry)
	mkdir -p .headlamp dist/headlamp && cp -r examples/headlamp/. .headlamp/ && cd .headlamp && npm install --no-audit --no-fund --ignore-scripts && npm run tsc && CI=true npm test && npm run build && cp dist/main.js package.json ../dist/headlamp/

release: ## Make a release in dist/: make release V=v0.1.0
	hack/release.sh $(V)

release-check: ## Make a release twice, in two places, and compare all bytes; ARCHES= WITHOUT_KUBE=1 for less, RECOMPILE=1 compiles twice
	hack/release-check.sh

lint: ## Static analysis (deprecated API versions are ours to convert, hence not SA1019)
	$(TOOL) staticcheck -checks inherit,-SA1019 $(OWN)
	hack/format.sh
	go test -count=1 -run TestWords .

client-size: ## Build the client for six systems into bin/client/; 61 MB or more fail
	for system in linux darwin windows; do for arch in amd64 arm64; do hack/client.sh $$system $$arch bin/client/$$system-$$arch || exit 1; done; done

vet-client: ## Type-check the client for systems without a local plane, with all that it imports; nothing is compiled
	go run ./hack/typecheck ./cmd/casement windows/amd64 darwin/arm64

generate: ## Make everything that is generated
	hack/generate.sh

verify: generate ## Fail when something generated is stale
	git diff --exit-code -- api config internal docs cmd go.mod go.sum

bump-k8s: ## Move Kubernetes and its staging modules together: make bump-k8s V=1.37.3
	hack/bump-k8s.sh $(V)

upstream: ## Hold that the patches of docs/upstream apply to Cluster API, and that their tests fail without and pass with them
	hack/upstream.sh

FORCE:
# Every target with a description, and those without.
.PHONY: FORCE programs $(shell sed -n 's/^\([a-z0-9-]*\):.*## .*/\1/p' $(firstword $(MAKEFILE_LIST)))

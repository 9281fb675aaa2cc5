// Package ui drives the page of `casement ui` in Debian's chromium, without a window: a cluster's
// whole life while the page is open, and 500 machines. It keeps screenshots under bin/ui/. It
// contains only tests; `make e2e-ui` runs them.
package ui

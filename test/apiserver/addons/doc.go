// Package addons contains only tests: a real API server accepts each addon.
package addons

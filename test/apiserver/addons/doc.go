// Package addons holds tests only: a real API server accepts each addon.
package addons

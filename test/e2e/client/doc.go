// Package client contains only tests: the client in the forms for users of other systems, as a
// GitHub Action and as the program for Windows. They need bash and curl, and wine.
package client

// Package client holds tests only: the client as its users on other systems have it, as a
// GitHub Action and as the program for Windows. They need bash and curl, and wine.
package client

// Package docs runs the commands of the README and the book, line by line, as a reader would type
// them. It contains only tests.
package docs

// Package loopback says what a port of the loopback is asked by: the names and the
// pages of those who mean it.
//
// Nobody else can connect to it, but a page in a browser can have requests sent there,
// and by a name that its author has had changed (DNS rebinding) even read the answers.
// A browser says which name and which page that was. Whoever serves on a port of the
// loopback asks here, before anything else, and answers no in words of its own.
//
// It is pure: it knows an address and looks at headers. Start reading at names.go.
package loopback

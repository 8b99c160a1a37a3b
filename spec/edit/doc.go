// Package edit changes the text of a manifest file: bytes in, bytes out. What is
// not meant by a change stays as it is, byte for byte: the other documents,
// comments, order, quotes, indentation and line ends.
//
// It is pure, as package spec is. A change is cut into the text at the places
// that the YAML parser names, and never written anew from what was parsed. Since
// such a cut can go wrong in texts that nobody has thought of, each result is
// decoded before it is handed out: the object has to be the one that is wanted
// and all others what they were, or else there is an error and no result.
//
// Start reading at document.go (a file taken apart) and file.go (a file that is
// changed), then replace.go (whole documents) and set.go (one field).
package edit

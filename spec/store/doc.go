// Package store changes a manifest directory: it finds the file that holds an
// object, puts objects in, takes them out, and sets single fields. What a file
// holds beside that stays as it is (package edit sees to the text).
//
// A change is made as a whole in memory first, so that a mistake in one object
// leaves the directory as it was. Then each file is written under a name that
// the source does not read, brought to the disk, and renamed into its place: a
// reader finds the old content or the new one. A lock file keeps two changes
// apart; it is there only while a change is made. Nothing here knows of a
// controller: the files are the truth, whether one runs or not.
//
// Start reading at content.go (what is there), then change.go (what shall be)
// and write.go (how it gets there).
package store

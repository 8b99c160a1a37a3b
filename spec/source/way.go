package source

// way is what was met between the root and a path.
type way struct {
	// real is the path without symbolic links.
	real string
	// via are the links that were followed and, last, the path that they led
	// to (or the first that is missing): a change to one of them may lead
	// elsewhere.
	via []string
	// end is what the path leads to.
	end stamp
	// distrust says which directory or link on the way somebody else could
	// change; nil if none, or if nobody asked.
	distrust *refusal
}

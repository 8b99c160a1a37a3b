package api

import "net/http"

// operation is what the description of the API (openapi.go) says of a route. It
// stands beside the route; a test fails for a route without one.
//
//	{http.MethodGet, Root + "/usage", h.usage, operation{
//		summary: "What each instance uses.",
//		query:   []parameter{{"since", time.Duration(0), "only what is younger"}},
//		answer:  UsageList{},
//	}}
type operation struct {
	// summary is one line, with a full stop. It is required.
	summary string
	// query are the parameters after the question mark.
	query []parameter
	// status is that of a good answer; zero is 200.
	status int
	// answer is a value of the type that a good answer has, as JSON; nil where it
	// is another media type or a stream.
	answer any
	// other is a value of another type that a good answer may have instead, as JSON,
	// where a parameter chooses.
	other any
	// line is a value of the type of each line of a stream of JSON lines. Where
	// there is an answer too, a parameter chooses.
	line any
	// media is the type of an answer that is no JSON: "text/plain".
	media string
}

// parameter is one parameter of a query. Its type is that of value: a string, a
// bool, an int, a time.Time or a time.Duration.
type parameter struct {
	name  string
	value any
	about string
}

// describe gives each of several routes the same description.
func describe(o operation, rs []route) []route {
	for i := range rs {
		rs[i].about = o
	}
	return rs
}

// good is the status of a good answer.
func (o *operation) good() int {
	if o.status == 0 {
		return http.StatusOK
	}
	return o.status
}

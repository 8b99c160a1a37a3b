// Package packaging holds what the Debian package is made of beside the program,
// and the test of it. It has tests only, which `make release` runs: they need the
// tools of a release.
//
// Start reading at nfpm.yaml; hack/release fills it in.
package packaging

// Package actuate does what was decided: it spawns, fences in, signals, reaps,
// and keeps the output files. It decides nothing and repeats nothing by itself;
// a failed action is an answer to its caller, who looks at the world again.
//
// Three rules hold everywhere. Every process is forked by one thread that lives
// as long as the Actuator (the main thread, where that is lent: mainthread.go), because
// the kernel takes the end of the forking thread for the death of the parent. No signal leaves before the identity of
// its target was proven through the handle that it is sent with. And a child is
// bound to no context: it ends by a signal or by itself.
//
// A guard process outlives us, and a new image of this program goes on with our
// children: guard_linux.go, guardian_linux.go (the guard itself) and
// heritage_linux.go. What agents are told of their MCP servers: mcpconfig.go.
//
// Start reading at actuator.go (what the room offers), then start.go (the walk
// of one start), spawner.go (the thread that forks), reaper_linux.go (how ends
// are noticed), signal.go (how a stop reaches the tree) and errand_linux.go (what
// is run for an instance beside its program). The sub-packages
// scope, journal, lock and logs (the output files for whoever reads them) stand
// on their own; logbound.go keeps the files bounded and notes their times.
package actuate

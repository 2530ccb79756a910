// Package gates puts the three gates of an MCP server on your own server, so
// that whoever depends on it can tell "it is up" from "it works".
//
// The gates fail for unrelated reasons, which is why there are three of them:
//
//	g1  GET /healthz   is the process alive?               never touches a dependency
//	g2  GET /test      can it do what it exists for?       exercises every dependency
//	g3  tools/list     does it speak MCP, with tools?      your MCP endpoint itself
//
// This package serves the first two; your MCP endpoint is the third.
//
// # Two minutes
//
// Say what your server cannot work without, then mount the gates beside your
// MCP handler:
//
//	mux := http.NewServeMux()
//	mux.Handle("/mcp", mcpHandler)
//	gates.Mount(mux, gates.Options{
//		Service: "port-scanner",
//		Version: "1.4.0",
//		Dependencies: []gates.Dependency{
//			gates.Required("nmap", gates.Executable{Path: "nmap", MinVersion: "7.80"}),
//			gates.Required("findings", gates.SQL{DB: db, Query: "SELECT id FROM findings LIMIT 1"}),
//			gates.Optional("whatweb", gates.Executable{Path: "whatweb"}),
//		},
//	})
//
// Then ask:
//
//	$ curl -s localhost:8080/healthz
//	{"status":"ok","service":"port-scanner","version":"1.4.0"}
//	$ curl -s localhost:8080/test
//	{"ok":true,"detail":"all required tools executable; degraded (optional missing): whatweb",...}
//
// Point the liveness check of your container at /healthz (or at its alias
// /health), so that a broken tool never gets a living process killed. Point
// whatever decides to use the server at /test.
//
// # What /test answers
//
// Status 200 with "ok":true when every required dependency passed, else 503
// with "ok":false; an optional one that fails degrades the server and is named.
// Every dependency stands under "tools" with what was found out about it:
//
//	"nmap": {
//		"present": true,       found; for other kinds than Executable: configured
//		"executable": true,    its check passed
//		"path": "/usr/bin/nmap",
//		"version": "7.93",
//		"detail": "Nmap version 7.93 ( https://nmap.org )",
//		"latencyMs": 12,       how long the check took
//		"ageMs": 340,          how old the result is
//		"required": true
//	}
//
// A server that declares no dependency proves nothing, so its /test answers
// 503. If it truly needs nothing but itself, declare a [Func] that does a small
// piece of its real work.
//
// # Choosing a check
//
// A check must do a small piece of the real work. That a file lies on PATH, a
// port is open or a connection is in a pool says little.
//
//   - [Executable] runs a program with its version flag, and wants its exit status,
//     its output and its version to be as they should.
//   - [SQL] sends a query over a *sql.DB and wants a row. Query a table that you
//     need, not just SELECT 1.
//   - [HTTP] asks a server for a page over a connection of its own, and wants its
//     status and its body to be as they should. Ask for a page that needs what you
//     need.
//   - [TCP] wants a connection to be accepted and kept. It is the weakest check.
//   - [Func] is everything else: fetch a document from the index, load a model,
//     write a file and read it back. [DetailFunc] says what it found as well.
//
// # What is wrong with a program
//
// The detail of an [Executable] that fails begins with one of these, so that
// whoever reads it knows what to repair:
//
//	not on PATH                     install it
//	no such file                    install it, or correct the path
//	not executable: ...             its permissions, those of its interpreter, or the mount
//	not a program but ...           a download failed: an empty file, an HTML page, an archive
//	truncated: ...                  a download was cut off
//	wrong architecture: ...         a program for another processor
//	wrong system: ...               a program for another operating system
//	its interpreter ...             what runs the script, or the dynamic linker, is missing
//	its #! line ends in ...         a script with the line ends of Windows
//	shared library ...              a library is missing or damaged
//	a shared library is too old     made for a newer system
//	did not end in time ...         it hangs, or waits for input or a network
//	killed by a signal: ...         it crashes
//	exit status N, want M           it ends by itself in another way than it should
//	output does not match ...       another program of that name
//	version X is older than Y       update it
//	no version found ...            give Match a group that finds it
//
// A program that runs as it should although a part that it loads is cut off is
// truncated all the same: it fails when it first needs that part.
//
// # In your own tests
//
// Package gatestest runs the three gates, and the misbehaviour of clients that a
// server must survive, inside a test of yours:
//
//	func TestGates(t *testing.T) {
//		gatestest.Run(t, startServer(t))
//	}
//
// What the prober asks and accepts, for servers that are not written in Go, stands
// in docs/WIRE.md of the repository.
//
// # Promises
//
//   - Any number of concurrent requests cause one execution of each check. Its
//     result is kept for [Options.CacheFor] and never taken from there when older.
//   - A check that fails, panics, hangs or ignores its context is a failed check,
//     never an absent one. It is given up on a second after [Options.Timeout], and
//     while it hangs it is not started again.
//   - A result that passes its age while a slower check keeps the request waiting
//     is renewed once before the answer is written.
//   - A program is run in a process group of its own, which is killed and reaped
//     with all that the program started. (A process that leaves the group by
//     setsid is out of reach. On Windows the process tree is ended by taskkill.)
//   - Output is read to its end but kept to 64 KiB only. Of a page, 64 KiB are read.
//   - What is read of a program's file, to tell what is wrong with it, is bounded,
//     and a hostile file can neither crash nor hang the check.
//
// # What is shown to whom
//
// /test is not authenticated. It shows the names of dependencies, paths,
// versions, the first line that a program printed and the text of errors, that
// of your own [Func] included. Passwords in URLs and words such as password=...
// are blotted out, but that is a net and no permission: return errors that hold
// no secret.
package gates

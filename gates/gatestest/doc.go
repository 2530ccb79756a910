// Package gatestest tests an MCP server as Countersign will probe it, inside the
// server's own tests, and then as badly behaved clients will use it.
//
// # Use
//
// Start your server on loopback, as your program does, and hand its address over:
//
//	func TestGates(t *testing.T) {
//		server := httptest.NewServer(newHandler())
//		defer server.Close()
//		gatestest.Run(t, server.URL)
//	}
//
// The server may be written in any language: what counts is the address. Each gate
// is a subtest, and so is each misbehaviour; go test -run 'TestGates/healthz' runs
// one alone. A gate that does not pass says why, in the words of the prober:
//
//	--- FAIL: TestGates/test
//	    the gate test (GET /test) does not pass
//	        cause:  not_ok: The server itself says that it cannot do its work.
//	        detail: "required tools unusable: nmap"
//	        hint:   Repair what the detail names; the server is up, so a restart alone may not help.
//	        tool:   nmap: "not on PATH"
//
// # What is tested
//
// First the three gates: GET /healthz, GET /test and tools/list. On a server that
// passes them, the following:
//
//   - sessions that are opened and closed, one after the other and two at a time;
//   - fifty requests for /test at once, which agree and come in time;
//   - HEAD and other methods at /healthz and /test;
//   - clients that hang up before the answer;
//   - at the MCP endpoint a wrong Accept, an empty body, malformed JSON, JSON that is
//     no message, an unknown method, session and tool;
//   - both eras of the protocol, whichever the server speaks.
//
// What a client does wrong is answered, in time and with a status below 500 (501 is
// fine too), and the server passes its gates afterwards. No tool of the server is
// called.
//
// # The most important test
//
// A gate that never turns red proves nothing. Give [Run] a way to break something
// that the server needs, and it shows that /test tells so while /healthz stays
// green, and that /test recovers:
//
//	gatestest.Run(t, server.URL, gatestest.Breakable(index.Close, index.Open))
package gatestest

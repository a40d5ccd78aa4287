// Package sdk drives unmodified client libraries through the proxy: the
// official ones of several providers for Python, JavaScript and Go, and agent
// frameworks that run a tool loop.
//
// A scripted upstream answers with the files of testdata/replies, which have the
// providers' wire form: testdata/replies/API/SCENARIO/STEP.KIND, where the
// request's model names the scenario and the step is how often the model has
// spoken before. "{id}" in them stands for an id that is made from the request.
//
// Every scenario runs twice, straight against the upstream and through the
// proxy. The application must get the same, the upstream must see the same but
// for the differences that README.md lists, and the read API must say what
// testdata/want/SCENARIO.json says. It is the same file for every library,
// unless there is one with the library's name at its end. go test -update writes
// these files; their diff is reviewed as code.
//
// Each language is one process, python/client.py, node/client.mjs and go, which
// reads a list of scenarios and prints what the application saw.
package sdk

// Package archtest holds the table of packages and of the arrows between them,
// and checks the sources against it. A new package gets its row first.
//
// It parses the source files instead of asking the build, so a cached pass is
// never stale and files behind build tags count too. Test files may also import
// the fakes (upstreamtest, storetest, judgetest) and what those fake.
package archtest

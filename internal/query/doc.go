// Package query is the side for people and programs: an HTTP API under /api/v1
// and a server-rendered page.
//
// Guarantees. Nothing here changes what was recorded. What is written are labels
// of people about criteria, by POST /api/v1/labels and by the buttons of the
// page, which need no script, and feedback of the application's users, by POST
// /api/v1/feedback; a write from another site is refused. Captured content is untrusted: it is shown as text only, the content
// security policy allows nothing but the page's own style sheet and script, and
// nothing is loaded from elsewhere, so the page works without a network.
// Requests with a foreign Host are refused (DNS rebinding), and on an address
// other than loopback the package refuses to serve without a token.
//
// Lists are newest first and paged by a cursor, which is a place in the list
// and not a row number: rows that arrive meanwhile shift nothing.
//
// Rejected: a single-page application (a second build, and nothing here needs
// it), and websockets for the live list (a fragment fetched every two seconds
// costs one narrow query and survives every proxy).
package query

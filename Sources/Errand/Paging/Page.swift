extension Pages {
    /// One page of a list.
    public struct Page: Sendable {
        /// What the call for the page returned: the value, the status, the headers.
        public let reply: Reply<Response>
        /// Where the page is: reading from here gives it again.
        public let position: PagePosition
        /// Where the page after it is: reading from here goes on. `nil` if this is the last.
        public let next: PagePosition?

        /// What is on the page.
        public var value: Response { reply.value }
    }
}

extension Collection {
    /// Whether there is nothing on a page with these elements, not even some that could not be read.
    var isEmptyPage: Bool { isEmpty && ((self as? any PartialList)?.leftOut ?? 0) == 0 }
}

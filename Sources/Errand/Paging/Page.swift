extension Pages {
    /// One page of a list.
    public struct Page: Sendable {
        /// The reply to the call for the page: the value, the status, the headers.
        public let reply: Reply<Response>
        /// The position of the page: a list from here returns it again.
        public let position: PagePosition
        /// The position of the next page; `nil` if this is the last.
        public let next: PagePosition?

        /// The value of the page.
        public var value: Response { reply.value }
    }
}

extension Collection {
    /// Whether a page with these elements is empty: it has none, and skipped none that could not be decoded.
    var isEmptyPage: Bool { isEmpty && ((self as? any PartialList)?.leftOut ?? 0) == 0 }
}

extension APIClient {
    /// Returns the elements of a paged list, one after the other; each page is requested when it is needed.
    ///
    ///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
    ///     for try await film in client.items(of: .popular, in: \.results, by: byNumber) {
    ///         show(film)
    ///     }
    ///
    /// See `pages(of:by:from:pageLimit:)` for pages and the limit. One page is kept in memory at a time.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the first page.
    ///   - list: Returns the elements of a page.
    ///   - paging: How to get from one page to the next.
    ///   - position: Where to begin. If it is in the middle of a page, the client requests the page again and skips the
    ///     elements you already received.
    ///   - pageLimit: The greatest number of pages, 1,000 by default. A longer list counts as endless.
    public nonisolated func items<Response, List: Collection & SendableMetatype>(
        of endpoint: Endpoint<Response>, in list: @escaping @Sendable (Response) -> List, by paging: Paging<Response>,
        from position: PagePosition = .start, pageLimit: Int = 1_000
    ) -> Items<Response, List> {
        let pages = Pages(client: self, endpoint: endpoint, paging: paging, start: position, limit: pageLimit) {
            list($0).isEmptyPage
        }
        return Items(pages: pages, list: list)
    }

    /// Returns the elements of a paged list whose pages are collections.
    public nonisolated func items<Response: Collection>(
        of endpoint: Endpoint<Response>, by paging: Paging<Response>, from position: PagePosition = .start,
        pageLimit: Int = 1_000
    ) -> Items<Response, Response> {
        items(of: endpoint, in: { $0 }, by: paging, from: position, pageLimit: pageLimit)
    }
}

/// The elements of a paged list. Each iteration begins at the same position.
public struct Items<Response: Decodable & Sendable, List: Collection>: AsyncSequence, Sendable {
    /// An element of a page.
    public typealias Element = List.Element
    /// The error of a page, with the position to resume from.
    public typealias Failure = PagingError

    let pages: Pages<Response>
    let list: @Sendable (Response) -> List

    /// Creates an iterator; nothing is sent yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// Iterates over the elements of one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages<Response>.Iterator
        private let list: @Sendable (Response) -> List
        /// The remaining elements of the current page, and the position of that page.
        private var rest: List.Iterator?
        private var left = 0
        private var page: PagePosition
        private var taken = 0
        private var hasFailed = false

        fileprivate init(_ items: Items) {
            pages = items.pages.makeAsyncIterator()
            list = items.list
            page = items.pages.start
        }

        /// The position to resume from, perhaps in the middle of a page; `nil` if nothing is left.
        public var position: PagePosition? {
            left > 0 ? PagePosition(page.place, taken: taken) : pages.position
        }

        /// Returns the next element; `nil` after the last, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(PagingError) -> List.Element? {
            guard !hasFailed else { return nil }
            while true {
                if left > 0, let position, Task.isCancelled {
                    hasFailed = true
                    throw PagingError(.cancelled, position: position)
                }
                if left > 0, let element = rest?.next() {
                    (taken, left) = (taken + 1, left - 1)
                    return element
                }
                let alreadyTaken = pages.position?.taken ?? 0
                guard let next = try await pages.next(isolation: actor) else { return nil }
                begin(next, after: alreadyTaken)
            }
        }

        /// Skips the elements of the page that were received before the iteration was interrupted.
        private mutating func begin(_ next: Pages<Response>.Page, after alreadyTaken: Int) {
            let elements = list(next.value)
            var iterator = elements.makeIterator()
            let count = elements.count
            taken = Swift.min(alreadyTaken, count)
            for _ in 0..<taken { _ = iterator.next() }
            (page, rest, left) = (next.position, iterator, count - taken)
        }
    }
}

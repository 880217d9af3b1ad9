extension APIClient {
    /// The elements of a list that comes in pages, one after the other; a page is asked for when it is needed.
    ///
    ///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
    ///     for try await film in client.items(of: .popular, \.results, by: byNumber) {
    ///         show(film)
    ///     }
    ///
    /// See `pages(of:by:from:pageLimit:)` for what a page is and for the limit. One page is kept at a time.
    ///
    /// - Parameters:
    ///   - endpoint: The call for the first page.
    ///   - list: Where the elements are on a page.
    ///   - paging: How the pages follow one another.
    ///   - position: Where to begin. In the middle of a page, that page is asked for again, and so many elements are
    ///     passed over as had been taken of it.
    ///   - pageLimit: How many pages may come before the list is taken for endless.
    public nonisolated func items<Response, List: Collection & SendableMetatype>(
        of endpoint: Endpoint<Response>, _ list: @escaping @Sendable (Response) -> List, by paging: Paging<Response>,
        from position: PagePosition = .start, pageLimit: Int = 1_000
    ) -> Items<Response, List> {
        let pages = Pages(client: self, endpoint: endpoint, paging: paging, start: position, limit: pageLimit) {
            list($0).isEmptyPage
        }
        return Items(pages: pages, list: list)
    }

    /// The elements of a list that comes in pages, each of which is nothing but a collection of them.
    public nonisolated func items<Response: Collection>(
        of endpoint: Endpoint<Response>, by paging: Paging<Response>, from position: PagePosition = .start,
        pageLimit: Int = 1_000
    ) -> Items<Response, Response> {
        items(of: endpoint, { $0 }, by: paging, from: position, pageLimit: pageLimit)
    }
}

/// The elements of a list that comes in pages. Each loop over it begins at the same position.
public struct Items<Response: Decodable & Sendable, List: Collection>: AsyncSequence, Sendable {
    /// What comes: an element of a page.
    public typealias Element = List.Element
    /// How it fails: with an error and the position at which to go on.
    public typealias Failure = PagingError

    let pages: Pages<Response>
    let list: @Sendable (Response) -> List

    /// Begins to read; nothing is sent yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// Goes through the elements of one page after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages<Response>.Iterator
        private let list: @Sendable (Response) -> List
        /// What is left of the present page, and where that page is.
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

        /// Where reading goes on from here, in the middle of a page perhaps; `nil` if there is nothing left.
        public var position: PagePosition? {
            left > 0 ? PagePosition(page.place, taken: taken) : pages.position
        }

        /// The next element; `nil` after the last, and after an error.
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

        /// Passes over what was taken of the page before reading was interrupted.
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

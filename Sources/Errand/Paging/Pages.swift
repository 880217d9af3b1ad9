extension APIClient {
    /// The pages of a list, one call for each, made when it is asked for.
    ///
    ///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
    ///     for try await page in client.pages(of: .popular, by: byNumber) {
    ///         show(page.value.results)
    ///     }
    ///
    /// Each page is a call like any other: it waits for the rate limit, is signed, is tried again, and ends with its
    /// task, with `.cancelled`. No page is kept, and none is asked for ahead.
    ///
    /// - Parameters:
    ///   - endpoint: The call for the first page.
    ///   - paging: How the pages follow one another.
    ///   - position: Where to begin: at the start, or where reading has ended before.
    ///   - pageLimit: How many pages may come before the list is taken for endless, which is `.paging(.tooManyPages)`.
    ///     A thousand take more than three minutes at five per second.
    public nonisolated func pages<Response>(
        of endpoint: Endpoint<Response>, by paging: Paging<Response>, from position: PagePosition = .start,
        pageLimit: Int = 1_000
    ) -> Pages<Response> {
        // A response that is no collection may be empty without anybody knowing.
        Pages(client: self, endpoint: endpoint, paging: paging, start: position, limit: pageLimit) {
            ($0 as? any Collection)?.isEmptyPage ?? false
        }
    }
}

/// The pages of a list, as they are asked for. Each loop over it begins at the same position.
public struct Pages<Response: Decodable & Sendable>: AsyncSequence, Sendable {
    /// What comes: a page.
    public typealias Element = Page
    /// How it fails: with an error and the position at which to go on.
    public typealias Failure = PagingError

    let client: APIClient
    let endpoint: Endpoint<Response>
    let paging: Paging<Response>
    let start: PagePosition
    let limit: Int
    let isEmpty: @Sendable (Response) -> Bool

    /// Begins to read; nothing is sent yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// Names that the client sets itself in each call: a place holds neither them nor the secrets that they may name.
    fileprivate var commonNames: Set<String> {
        var names = Set(client.configuration.parameters.items.map(\.name))
        guard !names.isEmpty else { return names }
        names.subtract(endpoint.query.items.map(\.name))
        if case .parameters(let own) = endpoint.body?.content {
            // Then they go into the body, and what the URL has is the server's.
            guard endpoint.method.takesParametersInQuery else { return [] }
            names.subtract(own.items.map(\.name))
        }
        return names
    }

    /// Asks for one page after the other.
    ///
    /// It keeps where the next page is, how many there were, and one place to notice a circle by: always the same
    /// amount, however long the list is.
    public struct Iterator: AsyncIteratorProtocol {
        /// Where reading goes on from here; `nil` if there are no more pages.
        public private(set) var position: PagePosition?

        private let list: Pages
        private let hidden: Set<String>
        private var count = 0
        private var cycles: CycleDetector?
        /// What keeps it from going on, to be told when the next page is asked for.
        private var fault: PagingFault?
        private var hasFailed = false

        fileprivate init(_ list: Pages) {
            self.list = list
            hidden = list.commonNames
            position = list.start
        }

        /// The next page; `nil` after the last, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(PagingError) -> Page? {
            guard !hasFailed, let here = position else { return nil }
            do throws(ServiceError) {
                try check()
                let endpoint = try list.paging.endpoint(for: here.place, of: list.endpoint)
                let reply = try await list.client.reply(to: endpoint)
                count += 1
                goOn(after: reply, at: here.place)
                return Page(reply: reply, position: PagePosition(here.place), next: position)
            } catch {
                hasFailed = true
                throw PagingError(error, position: here)
            }
        }

        private func check() throws(ServiceError) {
            if Task.isCancelled { throw .cancelled }
            if let fault { throw .paging(fault) }
            guard list.limit > 0 else { throw .badSetting("a limit of \(list.limit) pages; it must be 1 or more") }
            guard count < list.limit else { throw .paging(PagingFault(.tooManyPages, "more than \(list.limit)")) }
        }

        private mutating func goOn(after reply: Reply<Response>, at place: PagePosition.Location) {
            let isEmpty = list.isEmpty(reply.value)
            switch list.paging.step(after: reply, at: place, isEmpty: isEmpty, hiding: hidden) {
            case .end:
                position = nil
            case .fault(let kind, let place):
                position = PagePosition(place)
                fault = PagingFault(kind, "after \(count) pages")
            case .on(let next):
                position = PagePosition(next)
                guard isRepeated(next, after: place, named: list.paging.name(of: reply, hiding: hidden)) else { return }
                // Some servers name a next page for ever, and it is empty.
                if isEmpty { position = nil } else { fault = PagingFault(.repeated, "after \(count) pages") }
            }
        }

        private mutating func isRepeated(
            _ next: PagePosition.Location, after place: PagePosition.Location, named name: PagePosition.Location?
        ) -> Bool {
            var cycles = self.cycles ?? CycleDetector(from: name ?? place)
            defer { self.cycles = cycles }
            // A page that names itself need not be asked for again to know.
            return cycles.close(at: next) || next == place || next == name
        }
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension APIClient {
    /// Returns the pages of a list; each page is requested when the iteration needs it.
    ///
    ///     let byNumber: Paging<FilmPage> = .number("page", total: \.totalPages)
    ///     for try await page in client.pages(of: .popular, by: byNumber) {
    ///         show(page.value.results)
    ///     }
    ///
    /// Each page is a call like any other: it takes a permit, is signed and retried, and ends with `.cancelled` when
    /// its task is canceled. If the user signs out, or another signs in, the next page is `.sessionExpired`. No page
    /// is kept, and none is requested in advance.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the first page.
    ///   - paging: How to get from one page to the next.
    ///   - position: Where to begin: at the start, or where reading ended before.
    ///   - pageLimit: The greatest number of pages, 1,000 by default. A longer list counts as endless and fails with
    ///     `.paging` of the kind `.tooManyPages`. At five calls per second, a thousand pages take more than three
    ///     minutes.
    public nonisolated func pages<Response>(
        of endpoint: Endpoint<Response>, by paging: Paging<Response>, from position: PagePosition = .start,
        pageLimit: Int = 1_000
    ) -> Pages<Response> {
        // If a response is not a collection, nothing shows that it is empty.
        Pages(client: self, endpoint: endpoint, paging: paging, start: position, limit: pageLimit) {
            ($0 as? any Collection)?.isEmptyPage ?? false
        }
    }
}

/// The pages of a list. Each iteration begins at the same position.
public struct Pages<Response: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Page
    /// The error of a page, with the position to resume from.
    public typealias Failure = PagingError

    let client: APIClient
    let endpoint: Endpoint<Response>
    let paging: Paging<Response>
    let start: PagePosition
    let limit: Int
    let isEmpty: @Sendable (Response) -> Bool

    /// Creates an iterator; nothing is sent yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(self)
    }

    /// The method and the path of the call for each page.
    fileprivate var name: String { "\(endpoint.method) \(endpoint.path)" }

    /// The names of the parameters that the client sets in each call. A position holds neither them nor their values,
    /// which may be secret.
    fileprivate var commonNames: Set<String> {
        var names = Set(client.configuration.parameters.items.map(\.name))
        guard !names.isEmpty else { return names }
        names.subtract(endpoint.query.items.map(\.name))
        if let members = endpoint.untyped.ownOptions?.queryValue {
            // What cannot be encoded makes the call for the page fail.
            let own = try? members.query(encodedBy: client.configuration.encoder)
            names.subtract(own?.items.map(\.name) ?? [])
        }
        if case .parameters(let own) = endpoint.body?.content {
            // The client's parameters go into the body then, and those in the URL are the server's.
            guard endpoint.method.takesParametersInQuery else { return [] }
            names.subtract(own.items.map(\.name))
        }
        return names
    }

    /// Requests one page after the other.
    ///
    /// It keeps the next position, the number of pages and one position to detect a cycle: a constant amount, however
    /// long the list is.
    public struct Iterator: AsyncIteratorProtocol {
        /// The position to resume from; `nil` if there are no more pages.
        public private(set) var position: PagePosition?

        private let list: Pages
        private let hidden: Set<String>
        private var count = 0
        /// The session of the pages so far: another user's must not follow.
        private var session: UUID?
        private var cycles: CycleDetector?
        /// The reason why reading cannot continue; it is thrown when the next page is requested.
        private var fault: PagingFault?
        private var hasFailed = false

        fileprivate init(_ list: Pages) {
            self.list = list
            hidden = list.commonNames
            position = list.start
        }

        /// Returns the next page; `nil` after the last, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(PagingError) -> Page? {
            guard !hasFailed, let here = position else { return nil }
            do throws(ServiceError) {
                try check()
                let endpoint = try list.paging.endpoint(
                    for: here.place, of: list.endpoint, hiding: list.client.secretNames)
                let reply = try await list.client.reply(to: endpoint, in: session)
                (count, session) = (count + 1, reply.session)
                goOn(after: reply, at: here.place)
                return Page(reply: reply, position: PagePosition(here.place), next: position)
            } catch {
                hasFailed = true
                throw PagingError(error.naming(list.name, at: list.client.server), position: here)
            }
        }

        private func check() throws(ServiceError) {
            if Task.isCancelled { throw .cancelled }
            if let fault { throw .paging(fault) }
            guard list.limit > 0 else { throw .badSetting("a limit of \(list.limit) pages; it must be 1 or more") }
            guard count < list.limit else {
                throw .paging(PagingFault(.tooManyPages, "more than \(list.limit); see `pageLimit`"))
            }
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
                // Some servers always name a next page, even if it is empty.
                if isEmpty { position = nil } else { fault = PagingFault(.repeated, "after \(count) pages") }
            }
        }

        private mutating func isRepeated(
            _ next: PagePosition.Location, after place: PagePosition.Location, named name: PagePosition.Location?
        ) -> Bool {
            var cycles = self.cycles ?? CycleDetector(from: name ?? place)
            defer { self.cycles = cycles }
            // A page that names itself as the next one need not be requested again.
            return cycles.close(at: next) || next == place || next == name
        }
    }
}

extension Pages {
    /// Returns the position of the page after that reply; `nil` if it is the last page.
    ///
    /// So a screen can show the first page from the cache and then anew, and go on from there:
    ///
    ///     let films = client.pages(of: .popular, by: byNumber)
    ///     var next: PagePosition?
    ///     for try await reply in client.replies(to: .popular) {
    ///         show(reply.value.results)
    ///         next = films.position(after: reply)
    ///     }
    ///
    /// - Parameters:
    ///   - reply: The reply with a page of this list.
    ///   - position: The position of that page; the start by default.
    public func position(after reply: Reply<Response>, at position: PagePosition = .start) -> PagePosition? {
        let isEmpty = isEmpty(reply.value)
        return switch paging.step(after: reply, at: position.place, isEmpty: isEmpty, hiding: commonNames) {
        // The page of another origin names no next one.
        case .end, .fault(.otherOrigin, _): nil
        case .on(let next), .fault(_, let next): PagePosition(next)
        }
    }
}

extension Pages: OpaqueReflectable {
    /// The method and the path of the call, and where the list begins.
    public var description: String { "pages of \(name) from \(start)" }
}

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
    var isEmptyPage: Bool { isEmpty && ((self as? any PartialList)?.skippedCount ?? 0) == 0 }
}

/// Detects cycles in a list with Brent's algorithm: it keeps one position, and compares each new one with it.
///
/// It replaces the position after 1, 2, 4, 8 … steps. So the kept position lies on the cycle sooner or later, and
/// stays long enough for the cycle to close. A set of all positions would detect a cycle a page earlier, but would
/// grow with the list.
struct CycleDetector {
    private var kept: PagePosition.Location
    private var steps = 0
    private var limit = 1

    init(from start: PagePosition.Location) {
        kept = start
    }

    /// Moves to the next position. Returns whether this closes a cycle.
    mutating func close(at place: PagePosition.Location) -> Bool {
        guard place != kept else { return true }
        steps += 1
        if steps == limit {
            kept = place
            (steps, limit) = (0, limit * 2)
        }
        return false
    }
}

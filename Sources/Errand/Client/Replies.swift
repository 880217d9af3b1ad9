#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Which replies ``APIClient/replies(to:_:)`` returns.
public struct ReplyOrder: Sendable, Hashable, CustomStringConvertible {
    /// The name of the order.
    public let description: String

    /// What is stored at once, however old, and then what the server says now, unless what is stored is fresh.
    public static let cachedThenFresh = ReplyOrder(description: "cachedThenFresh")
}

extension APIClient {
    /// Returns the replies to a call: one or two.
    ///
    ///     for try await reply in client.replies(to: .friends(of: me.id), .cachedThenFresh) {
    ///         show(reply.value)
    ///     }
    ///
    /// The first comes from the cache, if something is stored that the server does not require to be confirmed. The
    /// second comes from the server, or was confirmed by it; it is left out if the first was fresh. If the server
    /// fails, the iteration throws after the first.
    ///
    /// Each reply is a call of its own. Nothing is sent until the iteration asks for the second. A client without a
    /// cache has one reply.
    public nonisolated func replies<Response>(
        to endpoint: Endpoint<Response>, _ order: ReplyOrder
    ) -> Replies<Response> {
        Replies(client: self, endpoint: endpoint)
    }

    /// Whether the cache would answer a call at once.
    @concurrent
    fileprivate nonisolated func isStored<Response>(_ endpoint: Endpoint<Response>) async -> Bool {
        // No file or stream is opened to ask the cache. Parameters may be part of the query.
        guard let cache = configuration.cache, endpoint.body?.isParameters ?? true else { return false }
        let rules = configuration.rules(for: endpoint.options)
        if cache.outlivesProcess, configuration.signs(rules), configuration.tokens?.presentSession == nil {
            // What is on the disk belongs to a session that only a call loads.
            return true
        }
        guard let pipeline = try? pipeline.get(),
            let request = try? pipeline.builder.request(for: endpoint, rules: rules, files: BodyFiles())
        else { return false }
        return await pipeline.cacheAnswers(request, rules: rules)
    }
}

/// The replies to a call, from the cache and from the server. Each iteration begins anew.
public struct Replies<Response: Decodable & Sendable>: AsyncSequence, Sendable {
    /// A reply.
    public typealias Element = Reply<Response>
    /// The error of the call.
    public typealias Failure = ServiceError

    let client: APIClient
    let endpoint: Endpoint<Response>

    /// Creates an iterator; nothing is sent yet.
    public func makeAsyncIterator() -> Iterator {
        Iterator(list: self)
    }

    /// Returns what is stored, and then what the server says.
    public struct Iterator: AsyncIteratorProtocol {
        private enum Step { case stored, fresh, done }

        fileprivate let list: Replies
        private var step = Step.stored

        fileprivate init(list: Replies) {
            self.list = list
        }

        /// Returns the next reply; `nil` after the last, and after an error.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ServiceError) -> Reply<Response>? {
            if step == .stored {
                step = .fresh
                if let reply = try await stored() {
                    if reply.cache?.kind == .hit { step = .done }
                    return reply
                }
            }
            guard step == .fresh else { return nil }
            step = .done
            var endpoint = list.endpoint
            endpoint.options.cache.append(.confirmed)
            return try await list.client.reply(to: endpoint)
        }

        private func stored() async throws(ServiceError) -> Reply<Response>? {
            var endpoint = list.endpoint
            endpoint.options.cache += [.onlyIfCached, .staleUpTo(.seconds(Int64.max))]
            // Asked first, because a call that fails is an event.
            guard await list.client.isStored(endpoint) else { return nil }
            do throws(ServiceError) {
                return try await list.client.reply(to: endpoint)
            } catch .serverFailure(let rejection) where rejection.status == 504 {
                // It was removed in the meantime.
                return nil
            }
        }
    }
}

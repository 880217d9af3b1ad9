#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension APIClient {
    /// Returns the replies to a call, one or two: what is stored at once, and then what the server says now.
    ///
    ///     for try await reply in client.replies(to: .friends) {
    ///         show(reply.value)
    ///     }
    ///
    /// The first comes from the cache, if something is stored that the call may use without asking. The second comes
    /// from the server, or was confirmed by it; it is left out if the first was fresh. If the server fails, the
    /// iteration throws after the first. What is stored but cannot be decoded is left out too.
    ///
    /// Each reply is a call of its own. Nothing is sent until the iteration asks for the second. The response of the
    /// second is stored even if the server gives neither a lifetime nor a validator. A client without a cache, and a
    /// call with the policy ``CachePolicy/noStore``, have one reply.
    public nonisolated func replies<Response>(to endpoint: Endpoint<Response>) -> Replies<Response> {
        Replies(client: self, endpoint: endpoint)
    }

    /// Whether the cache would answer a call at once, as far as that is known before the call.
    @concurrent
    fileprivate nonisolated func isStored(_ endpoint: UntypedEndpoint) async -> Bool {
        // No file or stream is opened to ask the cache.
        guard configuration.cache != nil, endpoint.body?.isInMemory ?? true else { return false }
        let rules = rules(for: endpoint.ownOptions).rules
        guard let request = requestToLookUp(for: endpoint, by: rules) else { return false }
        // There is a pipeline, which has built the request.
        return (try? await pipeline.get().mayBeCached(request, rules: rules)) ?? false
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
        /// How the second call uses what is stored.
        private var second = CachePolicy.confirmed

        fileprivate init(list: Replies) {
            self.list = list
        }

        /// Returns the next reply; `nil` after the last, and after an error in place of it. After an error in place of
        /// the stored reply, such as a stored 404, it asks the server.
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
            return try await list.client.reply(to: endpoint(with: second))
        }

        /// Returns the call with that policy. It accepts stale responses, so what has neither a lifetime nor a
        /// validator is worth storing.
        private func endpoint(with policy: CachePolicy) -> Endpoint<Response> {
            var endpoint = list.endpoint
            if !isUncached { endpoint.options.cache += [policy, .staleUpTo(.seconds(Int64.max))] }
            return endpoint
        }

        /// Whether the call may not use the cache. Then none of these policies replaces its own.
        private var isUncached: Bool {
            let policies = list.client.configuration.cachePolicies + list.endpoint.options.cache
            return CacheRules(policies, key: nil, tags: []).mode == .noStore
        }

        private mutating func stored() async throws(ServiceError) -> Reply<Response>? {
            guard !isUncached else { return nil }
            let endpoint = endpoint(with: .onlyIfCached)
            // Asked first, because a call that fails is an event.
            guard await list.client.isStored(endpoint.untyped) else { return nil }
            do throws(ServiceError) {
                return try await list.client.reply(to: endpoint)
            } catch .serverFailure(let rejection) where rejection.cache?.reason == .onlyIfCached {
                // It was removed in the meantime.
                return nil
            } catch .decodingFailed {
                // It may be older than the type, so it is of no use to confirm it.
                second = .reload
                return nil
            }
        }
    }
}

// MARK: Old names

/// The replies that ``APIClient/replies(to:)`` returns.
@available(*, deprecated, message: "replies(to:) has one order")
public struct ReplyOrder: Sendable, Hashable {
    /// What is stored, then what the server says now.
    public static let cachedThenFresh = ReplyOrder()
}

extension APIClient {
    /// Returns the replies to a call.
    @available(*, deprecated, renamed: "replies(to:)")
    public nonisolated func replies<Response>(
        to endpoint: Endpoint<Response>, _ order: ReplyOrder
    ) -> Replies<Response> {
        replies(to: endpoint)
    }
}

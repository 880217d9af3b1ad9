import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The clients of a cluster's members, in the order of their addresses.
final class EtcdMembers: Sendable {
    /// The statuses with which the gateway says that something went wrong; its body says what.
    private static let refusals: Set<Int> = [400, 401, 403, 404, 408, 409, 412, 429, 499, 500, 501, 502, 503, 504]

    let addresses: [String]
    private let clients: [APIClient]
    /// Credentials, and the tokens that stand for them, travel encrypted, or do not leave the machine.
    private let exposed: String?
    /// The index of the member that is asked first.
    private let preferred: Lock<Int>
    /// The indices of members that are given up, each time that one is.
    let givenUp = Broadcast<Int>()

    /// - Parameter first: The index of the member that is asked first.
    init(
        _ addresses: [String], beginningAt first: Int, hasCredentials: Bool, timeout: Duration,
        transport: (any Transport)?
    ) {
        preferred = Lock(first)
        self.addresses = addresses
        // What is no URL is refused by its client.
        exposed = hasCredentials ? addresses.first { (try? HTTPURL($0))?.origin.isExposed ?? false } : nil
        clients = addresses.map { address in
            APIClient(ServerEnvironment(name: "etcd", baseURL: address)) {
                $0.rateLimit = .unlimited
                $0.retry = .never
                $0.redirects = .never
                $0.timeout = timeout
                $0.deadline = timeout
                $0.allowsCleartext = true
                $0.connectivity = .always
                $0.transport = transport
            }
        }
    }

    /// Returns the body of an answer. Throws an ``EtcdRefusal`` if it is none to the question.
    ///
    /// A request that is not repeatable is sent to another member only if it has certainly not reached the last.
    func answer(
        to endpoint: Endpoint<Data>, isRepeatable: Bool, token: String?
    ) async throws -> Data {
        let first = preferred.withLock { $0 }
        var failure: any Error = FleetStoreError(.invalid, "a store in etcd needs the address of at least one member")
        for offset in clients.indices {
            let index = (first + offset) % clients.count
            do {
                let answer = try await answer(to: endpoint, from: index, token: token)
                preferred.withLock { $0 = index }
                return answer
            } catch let error as EtcdRefusal {
                guard case .unavailable = error else { throw error }
                giveUp(index)
                failure = error
                guard isRepeatable else { break }
            } catch ServiceError.cancelled {
                throw ServiceError.cancelled
            } catch let error as ServiceError {
                giveUp(index)
                failure = error
                guard isRepeatable || !error.mayHaveReachedServer else { break }
            }
        }
        throw failure
    }

    /// Returns the body of the answer of one member.
    func answer(to endpoint: Endpoint<Data>, from index: Int, token: String?) async throws -> Data {
        try checkExposure()
        var endpoint = endpoint.header("Authorization", token)
        endpoint.options.acceptedStatuses = Self.refusals
        let reply = try await clients[index].reply(to: endpoint)
        guard reply.status < 300 else { throw EtcdRefusal(status: reply.status, body: reply.value) }
        return reply.value
    }

    /// Opens a stream at the member that is asked first, and returns its index with it.
    func stream(
        _ endpoint: Endpoint<Data>, token: String?
    ) async throws -> (stream: StreamedResponse, member: Int) {
        try checkExposure()
        guard !clients.isEmpty else { throw FleetStoreError(.invalid, "there is no address of a member") }
        let index = preferred.withLock { $0 }
        do throws(ServiceError) {
            return (try await clients[index].stream(endpoint.header("Authorization", token)), index)
        } catch {
            if error == .cancelled { throw error }
            guard let status = error.status else {
                giveUp(index)
                throw error
            }
            throw EtcdRefusal(status: status, EtcdFailure(message: "\(error)"))
        }
    }

    /// Gives up a member that does not answer, or cannot: its watches end, and if it was the one that is asked first,
    /// the next one is from now on.
    private func giveUp(_ index: Int) {
        preferred.withLock { preferred in
            if preferred == index { preferred = (index + 1) % clients.count }
        }
        givenUp.send(index)
    }

    /// Gives up the member that is asked first.
    func giveUpPreferred() {
        if !clients.isEmpty { giveUp(preferred.withLock { $0 }) }
    }

    private func checkExposure() throws {
        guard let exposed else { return }
        let advice = "use https, or a member on this machine"
        throw FleetStoreError(.invalid, "a password is not sent unencrypted to \(exposed); \(advice)")
    }
}

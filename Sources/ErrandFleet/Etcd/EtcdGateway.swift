import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The members of a cluster, as clients of their gateways.
///
/// Calls go to one member until it fails, then to the next. A read, which can be repeated, is sent to each member once.
/// A write is sent to the next member only if it certainly has not reached the one before: a write whose answer was
/// lost may have been made, and would then find the revision that it has made itself.
final class EtcdGateway: Sendable {
    private let members: EtcdMembers
    /// Signs the user in; `nil` without one.
    private let user: EtcdSignIn?

    init(_ members: EtcdMembers, credentials: EtcdCredentials?) {
        self.members = members
        user = credentials.map { EtcdSignIn($0, to: members) }
    }

    /// Returns the record, and the revision of the whole store at that time.
    func read(_ key: String) async throws(FleetStoreError) -> (record: FleetRecord?, revision: UInt64) {
        let answer = try await run(EtcdEndpoints.range(key), as: EtcdRangeAnswer.self, isRepeatable: true)
        return (answer.record, answer.header.revision?.value ?? 0)
    }

    func write(_ transaction: EtcdTransaction) async throws(FleetStoreError) -> EtcdTransactionAnswer {
        try await run(EtcdEndpoints.transaction(transaction), as: EtcdTransactionAnswer.self, isRepeatable: false)
    }

    /// The indices of members that are given up from now on.
    var givenUpMembers: AsyncStream<Int> { members.givenUp.stream(capacity: 64) }

    /// Opens a watch at the member that answers now, and returns the index of that with it.
    func watch(
        _ key: String, from revision: UInt64
    ) async throws(FleetStoreError) -> (stream: StreamedResponse, member: Int) {
        try await Self.translating { () async throws in
            let token = try await self.user?.token()
            return try await self.members.stream(EtcdEndpoints.watch(key, from: revision), token: token?.accessToken)
        }
    }

    /// Has the next calls go to another member, because a watch of the first does not begin.
    func abandonMember() {
        members.giveUpPreferred()
    }

    /// Signs in again before the next call, because the cluster has refused the token of a watch.
    func replaceToken() async throws(FleetStoreError) {
        guard let user else { return }
        _ = try await Self.translating { try await user.replacement(for: user.token()) }
    }

    /// The version and the alarms of each member; an error for one that does not answer.
    func statuses() async -> [(address: String, status: Result<EtcdStatus, FleetStoreError>)] {
        let endpoint = EtcdEndpoints.status
        var statuses: [(String, Result<EtcdStatus, FleetStoreError>)] = []
        for index in members.addresses.indices {
            let result: Result<EtcdStatus, FleetStoreError>
            do throws(FleetStoreError) {
                result = .success(
                    try await Self.translating {
                        let token = try await self.user?.token()
                        let answer = try await self.members.answer(
                            to: endpoint, from: index, token: token?.accessToken)
                        return try Self.decode(EtcdStatus.self, answer)
                    })
            } catch {
                result = .failure(error)
            }
            statuses.append((members.addresses[index], result))
        }
        return statuses
    }

    private func run<Answer: Decodable & Sendable>(
        _ endpoint: Endpoint<Data>, as type: Answer.Type, isRepeatable: Bool
    ) async throws(FleetStoreError) -> Answer {
        try await Self.translating {
            guard let user = self.user else {
                return try Self.decode(
                    type, try await self.members.answer(to: endpoint, isRepeatable: isRepeatable, token: nil))
            }
            var token = try await user.token()
            var answer: Data
            do {
                answer = try await self.members.answer(
                    to: endpoint, isRepeatable: isRepeatable, token: token.accessToken)
            } catch EtcdRefusal.token {
                // Tokens expire, and end with the member that has issued them, and with each change of a role. The
                // request was refused.
                token = try await user.replacement(for: token)
                answer = try await self.members.answer(
                    to: endpoint, isRepeatable: isRepeatable, token: token.accessToken)
            }
            user.noteAccepted(token)
            return try Self.decode(type, answer)
        }
    }

    static func decode<Answer: Decodable>(_ type: Answer.Type, _ answer: Data) throws -> Answer {
        do {
            return try JSONDecoder().decode(type, from: answer)
        } catch {
            throw FleetStoreError(.damaged, "the answer is not one of etcd's JSON gateway: \(answer.prefix(80).text)")
        }
    }

    static func translating<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws(FleetStoreError) -> Value {
        do {
            return try await body()
        } catch {
            throw FleetStoreError(etcd: error)
        }
    }
}

extension FleetStoreError {
    /// Translates an error of a call to etcd.
    fileprivate init(etcd error: any Error) {
        switch error {
        case let error as FleetStoreError: self = error
        case EtcdRefusal.final(let error): self = error
        case EtcdRefusal.token(let words): self.init(.refused, words)
        case EtcdRefusal.unavailable(let words): self.init(.unreachable, words)
        case ServiceError.cancelled: self = .cancelled
        case ServiceError.invalidRequest(let invalid): self.init(.invalid, "\(invalid)")
        case ServiceError.rejected(let rejection): self.init(.refused, "\(rejection)")
        case let error as ServiceError: self.init(.unreachable, "etcd cannot be reached: \(error)")
        default: self.init(.other, String(reflecting: Swift.type(of: error)))
        }
    }
}

extension Data {
    fileprivate var text: String { String(decoding: self, as: UTF8.self).debugDescription }
}

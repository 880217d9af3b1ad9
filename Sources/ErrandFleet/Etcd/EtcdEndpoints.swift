import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The calls of etcd's JSON gateway. All are POST, and say by their status and a code what went wrong.
enum EtcdEndpoints {
    static func range(_ key: String) -> Endpoint<Data> {
        .post("v3/kv/range", body: .json(EtcdRange(key: Data(key.utf8))))
    }

    static func transaction(_ transaction: EtcdTransaction) -> Endpoint<Data> {
        .post("v3/kv/txn", body: .json(transaction))
    }

    static func watch(_ key: String, from revision: UInt64) -> Endpoint<Data> {
        let creation = EtcdWatchRequest.Creation(key: Data(key.utf8), start: EtcdNumber(revision))
        // An idle watch is silent.
        return .post("v3/watch", body: .json(EtcdWatchRequest(creation: creation))).timeout(nil).deadline(nil)
    }

    static func authenticate(_ user: EtcdUser) -> Endpoint<Data> {
        .post("v3/auth/authenticate", body: .json(user))
    }

    static var status: Endpoint<Data> {
        .post("v3/maintenance/status", body: .json(JSONObject()))
    }
}

import Errand
import ErrandFleet
import ErrandTesting
import Foundation
import Testing

@Suite("A fleet")
struct FleetSamples {
    private func etcd(password: String) {
        let store = EtcdFleetStore(
            ["https://10.0.0.1:2379", "https://10.0.0.2:2379", "https://10.0.0.3:2379"],
            credentials: .user("billing", password: password))
        _ = store
    }

    private func etcdWithoutUsers() {
        let store = EtcdFleetStore(["https://10.0.0.1:2379", "https://10.0.0.2:2379", "https://10.0.0.3:2379"])
        _ = store
    }

    private func redis(password: String) {
        let store = RedisFleetStore("rediss://10.0.0.5:6379", credentials: .user("billing", password: password))
        _ = store
    }

    private func redisUnencrypted(password: String) {
        let store = RedisFleetStore("redis://10.0.0.5:6379", credentials: .user("billing", password: password))
        _ = store
    }

    private func folder() {
        let store = FileFleetStore(folder: "/var/lib/billing/fleet")
        _ = store
    }

    private func sessions(_ store: any FleetStore, _ oauth: OAuth, secret: String) throws {
        let key = try FleetKey(id: "2026-11", base64: secret)
        let sessions = FleetSessions(in: store, under: "errand/billing", name: "example-api", key: key)
        let tokens = TokenStore(persistence: sessions) { old in try await oauth.refresh(old) }
        let client = APIClient("https://api.example.com") { $0.tokens = tokens }
        _ = client
    }

    private func inMemory() {
        let store = MemoryFleetStore()
        _ = store
    }

    @Test(arguments: FleetStoreConformance.all)
    func conforms(_ rule: FleetStoreConformance.Case) async throws {
        try await rule.check { MyFleetStore("127.0.0.1:5432") }
    }
}

private let memory = MemoryFleetStore()

/// What the samples call a store of one's own.
private func MyFleetStore(_ address: String) -> any FleetStore { memory }

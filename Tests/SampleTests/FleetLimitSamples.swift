import Errand
import ErrandFleet
import ErrandSimulation

enum FleetLimitSamples {
    static func share(_ store: any FleetStore) async {
        let fleet = Fleet(store: store, name: "billing", node: "web-1")
        let client = APIClient("https://api.example.com") {
            $0.limiter = fleet.limiter("example-api", .requests(100, per: .seconds(1)))
        }
        _ = client

        await fleet.leave()  // when the server shuts down

        let limiter = fleet.limiter(
            "example-api", .requests(100, per: .seconds(1)),
            lowering: .on429(multiplyingBy: 0.5, recoveringEvery: .seconds(30)))
        _ = limiter

        for limit in fleet.snapshot.limits {
            print(limit.name, limit.owners, limit.waitingNodes, limit.problem ?? "")
        }
    }

    static func first(_ store: any FleetStore) {
        let fleet = Fleet(store: store, name: "billing")
        let client = APIClient("https://api.example.com") {
            $0.limiter = fleet.limiter("example-api", .requests(100, per: .seconds(1)))
        }
        _ = client
    }
}

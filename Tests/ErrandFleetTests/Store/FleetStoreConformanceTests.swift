import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Testing

@Suite("What stores promise", .timeLimit(.minutes(10))) struct FleetStoreConformanceTests {
    @Test("a store in memory keeps its promises", arguments: FleetStoreConformance.all)
    func memory(_ rule: FleetStoreConformance.Case) async throws {
        let store = MemoryFleetStore()
        try await rule.check { store }
    }

    @Test("C99: in a cancellation handler, a store in memory can be used while the canceled tasks hear of a change")
    func cancellation() async throws {
        let store = MemoryFleetStore()
        let isFree = try await LockedTask.canUse {
            let record = try? await store.read("a")
            _ = try? await store.write([1], to: "a", replacing: record?.revision)
        } ends: {
            let last = try? await store.read("a")
            _ = try? await store.changes(of: "a").first { $0 != last }
        } _: {
            _ = store.changes(of: "a")
        }
        #expect(isFree)
    }

    @Test("F12: a store in a folder keeps its promises", arguments: FleetStoreConformance.all)
    func file(_ rule: FleetStoreConformance.Case) async throws {
        let scratch = try Scratch()
        try await rule.check { FileFleetStore(folder: scratch.path("fleet")) }
    }

    @Test("F14: the suite finds what a wrong store does", arguments: WrongStore.Fault.allCases)
    func wrongStores(fault: WrongStore.Fault) async throws {
        let number =
            switch fault {
            case .losesUpdates: "S10"
            case .ignoresRevisions: "S6"
            case .letsTwoWin: "S9"
            case .reordersChanges: "S15"
            case .dropsLastChange: "S14"
            case .forgetsRevisions: "S8"
            case .readsStaleRecords: "S11"
            }
        let rule = try #require(FleetStoreConformance.all.first { $0.number == number })
        let store = WrongStore(fault)
        await #expect(throws: FleetStoreConformance.Violation.self) { try await rule.check { store } }
    }

    @Test("every case has a number of its own")
    func numbers() {
        #expect(Set(FleetStoreConformance.all.map(\.number)).count == FleetStoreConformance.all.count)
    }
}

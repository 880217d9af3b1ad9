import Errand
import ErrandFleet
import ErrandSimulation
import Testing

@Suite("What stores promise", .timeLimit(.minutes(5))) struct FleetStoreConformanceTests {
    @Test("a store in memory keeps its promises", arguments: FleetStoreConformance.all)
    func memory(_ rule: FleetStoreConformance.Case) async throws {
        let store = MemoryFleetStore()
        try await rule.check { store }
    }

    @Test("F12: a store in a folder keeps its promises", arguments: FleetStoreConformance.all)
    func file(_ rule: FleetStoreConformance.Case) async throws {
        let scratch = try FleetScratch()
        try await rule.check { FileFleetStore(folder: scratch.path("fleet")) }
    }

    @Test(
        "F14: the suite finds what a wrong store does",
        arguments: [
            (.losesUpdates, "S10"), (.ignoresRevisions, "S6"), (.letsTwoWin, "S9"), (.reordersChanges, "S15"),
            (.forgetsRevisions, "S8"), (.readsStaleRecords, "S11"),
        ] as [(WrongStore.Fault, String)])
    func wrongStores(fault: WrongStore.Fault, number: String) async throws {
        for rule in FleetStoreConformance.all where rule.number == number {
            let store = WrongStore(fault)
            await #expect(throws: FleetStoreConformance.Violation.self) { try await rule.check { store } }
        }
    }

    @Test("every case has a number of its own")
    func numbers() {
        #expect(Set(FleetStoreConformance.all.map(\.number)).count == FleetStoreConformance.all.count)
    }
}

import ErrandFleet
import Testing

@Suite struct FleetRevisionTests {
    @Test func `a later revision is greater`() {
        #expect(FleetRevision(1) < FleetRevision(2))
        #expect(!(FleetRevision(2) < FleetRevision(2)))
    }
}

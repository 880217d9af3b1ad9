@testable import Errand
import Testing

@Suite("Where an event's identifier may go") struct EventIDReachTests {
    private let own = Origin(scheme: "https", host: "own.test", port: nil)
    private let other = Origin(scheme: "https", host: "other.test", port: nil)
    private let third = Origin(scheme: "https", host: "third.test", port: nil)

    @Test("E8: an identifier of unknown origin goes where the endpoint's own origin redirects, and no further")
    func anywhere() {
        #expect(EventIDReach.anywhere.includes(other, from: own, ofEndpointAt: own))
        #expect(!EventIDReach.anywhere.includes(third, from: other, ofEndpointAt: own))
    }

    @Test("E8: an identifier goes to the origin that has sent it, whoever redirects there")
    func source() {
        #expect(EventIDReach.source(other).includes(other, from: third, ofEndpointAt: own))
        #expect(!EventIDReach.source(other).includes(third, from: own, ofEndpointAt: own))
        #expect(!EventIDReach.ownOrigin.includes(other, from: own, ofEndpointAt: own))
    }
}

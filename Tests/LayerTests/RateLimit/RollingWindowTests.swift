@testable import Errand
import ErrandTestSupport
import Testing

@Suite("The permits of one limit") struct RollingWindowTests {
    @Test("C1: under a smooth limit, a permit that is renewed frees no slot that a later one has taken")
    func renewedSlot() {
        var window = RollingWindow(permits: 4, period: .seconds(4), isSmooth: true)
        window.take(1, at: .ms(0))
        window.take(2, at: .ms(1000))
        // The two permits have taken the slots up to 3 s; the renewed one alone would take those up to 2.5 s.
        window.renew(1, takenAt: .ms(0), at: .ms(1500))
        #expect(window.earliest(taking: 1, at: .ms(1500)) == .ms(3000))
    }
}

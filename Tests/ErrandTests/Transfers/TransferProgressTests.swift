import Testing

@testable import Errand

@Suite("TransferProgress and its throttle")
struct TransferProgressTests {
    @Test("the fraction is known where the total is, and stays between 0 and 1")
    func fraction() {
        #expect(TransferProgress(bytes: 1, total: 4).fraction == 0.25)
        #expect(TransferProgress(bytes: 5, total: 4).fraction == 1)
        #expect(TransferProgress(bytes: 0, total: 0).fraction == 1)
        #expect(TransferProgress(bytes: 7).fraction == nil)
    }

    @Test("D9 progress is reported at once, and then at most ten times a second")
    func throttle() {
        var throttle = ProgressThrottle()
        let reported = (0...2500).filter { throttle.allows(at: .zero.advanced(by: .milliseconds($0))) }
        #expect(reported == Array(stride(from: 0, through: 2500, by: 100)))
    }
}

@testable import Errand
import ErrandTestSupport
import Testing

@Suite("The path of the system") struct ObservedNetworkTests {
    /// A path monitor that reports what a test sends it.
    private final class Script: PathSource {
        private let report = Noted<@Sendable (NetworkPath) -> Void>({ _ in })

        func start(_ report: @escaping @Sendable (NetworkPath) -> Void) { self.report.value = report }
        func send(_ path: NetworkPath) { report.value(path) }
    }

    private let source = Script()

    @Test("until the system has spoken, there may well be a network")
    func silence() {
        var strict = NetworkAccess()
        (strict.allowsCellular, strict.allowsExpensive, strict.allowsConstrained) = (false, false, false)
        let network = ObservedNetwork(source)
        #expect(network.isOnline())
        #expect(network.isOnline(for: strict))
    }

    @Test("the latest path counts")
    func changes() {
        let network = ObservedNetwork(source)
        for isUsable in [false, true, false] {
            source.send(NetworkPath(isUsable: isUsable))
            #expect(network.isOnline() == isUsable)
        }
    }

    @Test("the monitor does not keep its observer, and may report when it is gone")
    func late() {
        weak var observer: ObservedNetwork?
        do {
            let network = ObservedNetwork(source)
            observer = network
            #expect(network.isOnline())
        }
        source.send(NetworkPath(isUsable: false))
        #expect(observer == nil)
    }

    @Test(
        "a path is a network only for those who may use its kind",
        arguments: [
            (NetworkPath(isUsable: true), [true, true, true]),
            (NetworkPath(isUsable: true, isCellular: true), [false, true, true]),
            (NetworkPath(isUsable: true, isExpensive: true), [true, false, true]),
            (NetworkPath(isUsable: true, isConstrained: true), [true, true, false]),
            (NetworkPath(isUsable: true, isCellular: true, isExpensive: true), [false, false, true]),
            (NetworkPath(isUsable: false), [false, false, false]),
        ])
    func kinds(path: NetworkPath, isOnline: [Bool]) {
        let network = ObservedNetwork(source)
        source.send(path)
        var (wired, cheap, plenty) = (NetworkAccess(), NetworkAccess(), NetworkAccess())
        wired.allowsCellular = false
        cheap.allowsExpensive = false
        plenty.allowsConstrained = false
        #expect([wired, cheap, plenty].map(network.isOnline(for:)) == isOnline)
        #expect(network.isOnline() == path.isUsable)
    }
}

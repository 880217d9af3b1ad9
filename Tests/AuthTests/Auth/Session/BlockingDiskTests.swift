@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

// Serialized: each case blocks one of the few threads that tasks run on.
@Suite("A disk that blocks its thread", .serialized)
struct BlockingDiskTests {
    @Test("calls on the store do not wait for file work", .timeLimit(.minutes(10)), arguments: BlockingDisk.Work.all)
    fileprivate func storeIsFree(work: BlockingDisk.Work) async {
        let disk = BlockingDisk(blocking: work)
        let tokens = TokenStore(persistence: disk) { $0 }
        let call = Task {
            _ = try? await tokens.token()
            await tokens.signIn(Token(accessToken: "ann"))
        }
        await disk.hasBegun.opened()
        // This call needs the actor, but no disk.
        await tokens.refreshBeside(UUID())
        disk.goOn.signal()
        await call.value
        #expect(disk.wasFreed.isOpen, "the store was free only after the disk had given up waiting for it")
    }
}

/// A persistence that blocks its thread in one kind of work until the test continues it, or a time limit has passed.
private final class BlockingDisk: TokenPersistence {
    enum Work: Sendable, Hashable {
        case load, save, lock

        static let all: [Work] = [.load, .save, .lock]
    }

    let hasBegun = Latch()
    let goOn = DispatchSemaphore(value: 0)
    let wasFreed = Latch()
    private let blocking: Work

    init(blocking: Work) { self.blocking = blocking }

    func load() -> SavedSession? {
        block(in: .load)
        return nil
    }

    func save(_ session: SavedSession?) { block(in: .save) }

    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async {
        block(in: .lock)
        await body(SessionLock())
    }

    private func block(in work: Work) {
        guard work == blocking else { return }
        hasBegun.open()
        // Without the time limit, the test would hang instead of failing.
        if goOn.wait(timeout: .now() + 20) == .success { wasFreed.open() }
    }
}

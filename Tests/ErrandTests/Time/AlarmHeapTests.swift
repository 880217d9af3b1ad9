import Errand
import ErrandTestSupport
import Testing

// Serialized: each seed is a long piece of work, and hundreds at once would delay the tests that use real time.
@Suite("The heap of alarms", .serialized) struct AlarmHeapTests {
    private struct Entry {
        var at: Instant
        var order: Int
        var isSleeper: Bool
        var ticket: AlarmHeap.Ticket
    }

    @Test("alarms fire as from a sorted array, however they are set and cancelled", arguments: UInt64(1)...30)
    func model(seed: UInt64) {
        var random = SeededRandom(seed)
        var heap = AlarmHeap()
        var entries: [Entry] = []
        var gone: [AlarmHeap.Ticket] = []
        let fired = Noted<[Int]>([])
        for order in 0..<800 {
            switch random.int(0...9) {
            case 0..<5:
                let (at, isSleeper) = (Instant(nanoseconds: Int64(random.int(0...40))), random.chance(50))
                let ticket = heap.insert(at: at, for: isSleeper ? .sleeper : .watch) {
                    fired.update { $0.append(order) }
                }
                entries.append(Entry(at: at, order: order, isSleeper: isSleeper, ticket: ticket))
            case 5..<7:
                guard let index = entries.indices.randomElement(using: &random) else { continue }
                let entry = entries.remove(at: index)
                let isRemoved = heap.remove(entry.ticket) != nil
                #expect(isRemoved)
                gone.append(entry.ticket)
            case 7:
                // A used ticket, whose slot another alarm may have now, cancels nothing.
                guard let ticket = gone.randomElement(using: &random) else { continue }
                let isRemoved = heap.remove(ticket) != nil
                #expect(!isRemoved)
            default:
                let now = Instant(nanoseconds: Int64(random.int(0...40)))
                let due = entries.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
                while let action = heap.popDue(at: now) { action() }
                #expect(fired.value == due.map(\.order))
                fired.update { $0 = [] }
                gone += due.map(\.ticket)
                entries.removeAll { $0.at <= now }
            }
            #expect(heap.count == entries.count)
            #expect(heap.earliest == entries.map(\.at).min())
            #expect(heap.sleepers == entries.count(where: \.isSleeper))
        }
    }

    /// Cancels another alarm when it is deallocated.
    private final class Owner: Sendable {
        let alarm: Alarm
        init(_ alarm: Alarm) { self.alarm = alarm }
        deinit { alarm.cancel() }
    }

    @Test("a cancelled alarm may hold the last reference to the owner of another")
    func lastReference() {
        let heap = AlarmHeap.Shared()
        let inner = Alarm(heap: heap, ticket: heap.withLock { $0.insert(at: .zero, for: .watch) {} })
        var owner: Owner? = Owner(inner)
        let outer = heap.withLock { [owner] in $0.insert(at: .zero, for: .watch) { _ = owner } }
        owner = nil
        #expect(heap.withLock { $0.count } == 2)
        heap.cancel(outer)
        #expect(heap.withLock { $0.isEmpty })
    }
}

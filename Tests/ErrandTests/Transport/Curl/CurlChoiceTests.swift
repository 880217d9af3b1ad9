#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Which loop a request goes to") struct CurlChoiceTests {
    private let used = CurlChoice.Outcome.used(isNew: true, leaves: true)

    @Test("L1: there is one loop until it has enough requests, and then another, up to the greatest number")
    func opening() {
        let choice = Chooser(most: 3)
        let places = (0..<CurlChoice.enough * 4).map { _ in choice.choose(for: 1, mayShare: false) }
        #expect(places.prefix(CurlChoice.enough).allSatisfy { $0.loop == 0 })
        #expect(places[CurlChoice.enough].loop == 1)
        #expect(places[CurlChoice.enough * 2].loop == 2)
        #expect(choice.active.reduce(0, +) == CurlChoice.enough * 4)
        // The rest is parted.
        #expect(choice.active.allSatisfy { $0 > CurlChoice.enough })
    }

    @Test("L1: one request at a time has one loop, however many there may be")
    func single() {
        let choice = Chooser(most: 8)
        for origin in 0..<100 {
            let place = choice.choose(for: UInt64(origin % 7), mayShare: origin.isMultiple(of: 2))
            #expect(place.loop == 0)
            choice.end(place, used)
        }
        #expect(choice.active == [0])
    }

    @Test("L1: a loop without requests can close, but not the first, and not one with a request")
    func closing() {
        let choice = Chooser(most: 2)
        let places = (0...CurlChoice.enough).map { _ in choice.choose(for: 1, mayShare: false) }
        #expect(!choice.close(1))
        for place in places { choice.end(place, used) }
        #expect(!choice.close(0))
        #expect(choice.close(1))
        #expect(choice.active == [0])
        // What it has kept is gone with it.
        for _ in 0..<CurlChoice.enough { #expect(choice.choose(for: 1, mayShare: false).loop == 0) }
    }

    @Test("L2: requests that share a connection, or may turn out to, are together however many there are")
    func sharing() {
        let choice = Chooser(most: 4)
        let places = (0..<100).map { _ in choice.choose(for: 7, mayShare: true) }
        #expect(places.allSatisfy { $0.loop == 0 })
        // Another origin has another home then.
        #expect(choice.choose(for: 8, mayShare: true).loop == 1)
    }

    @Test("L2: an origin that turns out to have streams is gathered; what is under way stays")
    func gathering() throws {
        let choice = Chooser(most: 2)
        let places = (0..<CurlChoice.enough * 2).map { _ in choice.choose(for: 7, mayShare: false) }
        let last = try #require(places.last)
        #expect(last.loop == 1)
        choice.gather(at: last)
        #expect(choice.active == [CurlChoice.enough, CurlChoice.enough])
        for _ in 0..<50 { #expect(choice.choose(for: 7, mayShare: true).loop == 1) }
    }

    @Test("L4: a kept connection is used before a new one is opened, in whichever loop it is")
    func keeping() {
        let choice = Chooser(most: 2)
        let places = (0...CurlChoice.enough).map { _ in choice.choose(for: 1, mayShare: false) }
        for place in places.dropLast() { choice.end(place, .used(isNew: true, leaves: false)) }
        choice.end(places[CurlChoice.enough], used)
        let place = choice.choose(for: 1, mayShare: false)
        #expect(place.loop == 1)
        // It was the only one.
        #expect(choice.choose(for: 1, mayShare: false).loop == 0)
        // A request that was canceled before it began leaves it for the next.
        choice.end(place, .unused)
        #expect(choice.choose(for: 1, mayShare: false).loop == 1)
    }

    @Test("L4: connections that the server has closed are not looked for again")
    func stale() {
        let choice = Chooser(most: 2)
        let places = (0..<CurlChoice.enough * 2).map { _ in choice.choose(for: 1, mayShare: false) }
        for place in places { choice.end(place, used) }
        let first = choice.choose(for: 1, mayShare: false, preferring: 1)
        #expect(first.loop == 1)
        choice.end(first, .used(isNew: true, leaves: false))
        // Nothing is kept there any more, so what the other keeps is used.
        #expect(choice.choose(for: 1, mayShare: false, preferring: 1).loop == 0)
    }

    @Test("L7: a loop that is held up gets no request, unless all are")
    func heldUp() {
        let choice = Chooser(most: 2)
        let place = choice.choose(for: 1, mayShare: false)
        choice.end(place, used)
        #expect(choice.choose(for: 1, mayShare: false, heldUp: [0]).loop == 1)
        #expect(choice.choose(for: 2, mayShare: true, heldUp: [0]).loop == 1)
        #expect(choice.choose(for: 1, mayShare: false, heldUp: [0, 1]).loop == 0)
        // The home of what may share a connection is where it was first.
        let shared = choice.choose(for: 3, mayShare: true)
        #expect(shared.loop == 0)
        #expect(choice.choose(for: 3, mayShare: true, heldUp: [0]).loop == 1)
        #expect(choice.choose(for: 3, mayShare: true).loop == 0)
    }

    @Test("L8: the loop of the task comes first, unless it has enough or the connection is elsewhere")
    func preferring() {
        let choice = Chooser(most: 2)
        _ = choice.open()
        let places = (0..<CurlChoice.enough).map { _ in choice.choose(for: 1, mayShare: false, preferring: 1) }
        #expect(places.allSatisfy { $0.loop == 1 })
        #expect(choice.choose(for: 1, mayShare: false, preferring: 1).loop == 0)
        for place in places { choice.end(place, used) }
        #expect(choice.choose(for: 1, mayShare: false, preferring: 0).loop == 1)
    }

    @Test("a loop that could not be opened is left for the first")
    func failure() {
        let choice = Chooser(most: 2)
        let places = (0...CurlChoice.enough).map { _ in choice.choose(for: 1, mayShare: false) }
        let moved = choice.moveToFirst(places[CurlChoice.enough])
        #expect(moved.loop == 0 && choice.active == [CurlChoice.enough + 1])
    }

    @Test("any number of origins takes a bounded memory")
    func memory() {
        let choice = Chooser(most: 2)
        for origin in 0..<5000 {
            choice.end(choice.choose(for: UInt64(origin), mayShare: origin.isMultiple(of: 2)), used)
        }
        #expect(choice.count <= 1024)
    }

    /// What really is in each loop: the connections to each origin that no request has.
    private struct Model {
        var kept: [[UInt64: Int]]
        var connections = 0
        var running: [(place: CurlChoice.Place, origin: UInt64, mayShare: Bool, isNew: Bool)] = []
    }

    @Test(
        "L1, L4: any course of requests has as many connections as with one loop, and one for each loop at most",
        arguments: 0..<50)
    func walk(seed: UInt64) {
        var random = SeededRandom(seed)
        let most = random.int(1...4)
        let choice = Chooser(most: most)
        var model = Model(kept: Array(repeating: [:], count: most))
        // The greatest number of requests at once to each origin: so many connections one loop would have.
        var peaks: [UInt64: Int] = [:]
        for _ in 0..<400 {
            if random.chance(model.running.count < 30 ? 55 : 45) {
                let origin = UInt64(random.int(1...3))
                let place = choice.choose(
                    for: origin, mayShare: false, preferring: random.chance(30) ? 0 : nil)
                let isNew = model.kept[place.loop][origin, default: 0] == 0
                if isNew { model.connections += 1 } else { model.kept[place.loop][origin, default: 0] -= 1 }
                model.running.append((place, origin, false, isNew))
                peaks[origin] = max(peaks[origin] ?? 0, model.running.count { $0.origin == origin })
            } else if !model.running.isEmpty {
                let ended = model.running.remove(at: random.int(0...model.running.count - 1))
                choice.end(ended.place, .used(isNew: ended.isNew, leaves: true))
                model.kept[ended.place.loop][ended.origin, default: 0] += 1
            }
            #expect(choice.active.reduce(0, +) == model.running.count)
            #expect(choice.active.count <= most)
        }
        let fewest = peaks.values.reduce(0, +)
        #expect(model.connections <= fewest + most, "\(model.connections) connections, where \(fewest) are enough")
    }
}

/// A choice that expectations can change.
private final class Chooser {
    private var choice: CurlChoice

    init(most: Int) { choice = CurlChoice(most: most) }

    var active: [Int] { choice.active }
    var count: Int { choice.count }

    func choose(
        for origin: UInt64, mayShare: Bool, preferring preferred: Int? = nil, heldUp: CurlChoice.Numbers = []
    ) -> CurlChoice.Place {
        choice.choose(for: origin, mayShare: mayShare, preferring: preferred, heldUp: heldUp)
    }

    func end(_ place: CurlChoice.Place, _ outcome: CurlChoice.Outcome) { choice.end(place, outcome) }
    func gather(at place: CurlChoice.Place) { choice.gather(at: place) }
    func moveToFirst(_ place: CurlChoice.Place) -> CurlChoice.Place { choice.moveToFirst(place) }
    func open() -> Int? { choice.open() }
    func close(_ loop: Int) -> Bool { choice.close(loop) }
}
#endif

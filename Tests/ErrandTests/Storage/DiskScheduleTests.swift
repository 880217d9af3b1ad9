@testable import Errand
import ErrandTestSupport
import Testing

@Suite("Which work on files runs") struct DiskScheduleTests {
    private var schedule = DiskSchedule<String>(.init(places: 3, threads: 16, timeLimit: .seconds(1)))
    /// The disks of folders; each of the others is a disk of its own.
    private var disks: [String: String] = [:]
    private var tickets: [String: Int] = [:]

    /// Submits work whose name is that of a file, and perhaps a number.
    private mutating func submit(_ names: String...) {
        for name in names {
            let place = place(name)
            tickets[name] = schedule.submit(name, at: place, on: disks[place.folder] ?? place.folder)
        }
    }

    private func place(_ name: String) -> DiskPlace { DiskPlace(String(name.prefix { $0 != "#" })) }

    /// Begins all that may run.
    private mutating func begin(at seconds: Int = 0) -> [String] {
        var begun: [String] = []
        while let (ticket, name) = schedule.begin(at: .zero.advanced(by: .seconds(seconds))) {
            #expect(ticket == tickets[name])
            begun.append(name)
        }
        return begun
    }

    private mutating func end(_ names: String...) {
        for name in names { tickets[name].map { schedule.end($0) } }
    }

    private mutating func replaceStuck(at seconds: Int) {
        _ = stuckDisks(at: .seconds(seconds))
    }

    /// Replaces stuck work, and returns its disks.
    private mutating func stuckDisks(at duration: Duration) -> Set<String> {
        schedule.replaceStuck(at: .zero.advanced(by: duration))
    }

    @Test("work on one file is done one after the other, in order; that on others is not held up")
    mutating func oneFile() {
        submit("a/x#1", "a/x#2", "b/y", "a/x#3")
        #expect(begin() == ["a/x#1", "b/y"])
        #expect(schedule.waiting == 2)
        end("b/y")
        #expect(begin() == [])
        end("a/x#1")
        #expect(begin() == ["a/x#2"])
        end("a/x#2")
        #expect(begin() == ["a/x#3"])
        end("a/x#3")
        #expect(schedule.waiting == 0 && schedule.stuck == 0)
    }

    @Test("C92 a disk never has all places, however much work it has")
    mutating func oneFolder() {
        submit("a/1", "a/2", "a/3", "a/4", "b/1")
        #expect(begin() == ["a/1", "b/1", "a/2"])
        end("b/1")
        #expect(begin() == [])
        submit("c/1")
        #expect(begin() == ["c/1"])
        end("a/2")
        #expect(begin() == ["a/3"])
    }

    @Test("disks are served in rotation, and so are the folders of a disk and the files of a folder")
    mutating func rotation() {
        submit("a/1#1", "a/1#2", "a/2#1", "a/2#2", "b/1#1", "c/1#1", "c/1#2")
        #expect(begin() == ["a/1#1", "b/1#1", "c/1#1"])
        end("b/1#1")
        #expect(begin() == ["a/2#1"])
        end("a/1#1")
        end("c/1#1")
        #expect(begin() == ["a/1#2", "c/1#2"])
        end("a/1#2", "a/2#1")
        #expect(begin() == ["a/2#2"])
        end("c/1#2", "a/2#2")
        for folder in ["d", "e"] { disks[folder] = "disk" }
        submit("d/1", "d/2", "e/1", "d/3")
        #expect(begin() == ["d/1", "e/1"])
        end("d/1")
        #expect(begin() == ["d/2"])
    }

    @Test("C92 work that is stuck keeps no place from other work, and counts again when it is done")
    mutating func stuck() {
        submit("a/1", "b/1", "c/1", "d/1", "e/1")
        #expect(begin() == ["a/1", "b/1", "c/1"])
        #expect(schedule.nextCheck == .zero.advanced(by: .seconds(1)))
        #expect(stuckDisks(at: .milliseconds(999)) == [])
        #expect(begin() == [])
        end("c/1")
        #expect(begin(at: 1) == ["d/1"])
        #expect(stuckDisks(at: .seconds(1)) == ["a", "b"])
        #expect(schedule.stuck == 2)
        #expect(begin(at: 1) == ["e/1"])
        #expect(schedule.nextCheck == nil, "nothing waits")
        end("a/1", "b/1")
        #expect(schedule.stuck == 0)
        submit("a/1", "a/2", "b/1")
        #expect(begin(at: 1) == ["a/1"], "two places are taken")
        #expect(schedule.nextCheck == .zero.advanced(by: .seconds(2)))
    }

    @Test("C92 a disk that hangs gets a part of the threads, and all together no more than there may be")
    mutating func bounds() {
        var begun: [String] = []
        for folder in "abcdefghijkl" { for file in 0..<10 { submit("\(folder)/\(file)") } }
        for second in 0..<100 {
            begun += begin(at: second)
            replaceStuck(at: second)
        }
        #expect(begun.count == 16)
        // An eighth of the threads, but not less than a folder has places.
        #expect(begun.filter { $0.hasPrefix("a/") }.count == 2)
        #expect(schedule.waiting == 104)
        // When some of it ends, the next begins.
        end(begun[0])
        #expect(begin(at: 100).count == 1)
    }

    @Test("C92 a disk with stuck work does one more piece of work at a time, however many folders it has")
    mutating func oneDisk() {
        for folder in 0..<80 {
            disks["\(folder)"] = "hung"
            submit("\(folder)/x")
        }
        #expect(begin().count == 2)
        submit("healthy/x")
        #expect(begin() == ["healthy/x"])
        var begun = 2
        for second in 1..<20 {
            end("healthy/x")
            replaceStuck(at: second)
            submit("healthy/x")
            let next = begin(at: second)
            #expect(next.contains("healthy/x"))
            begun += next.count - 1
            #expect(next.count <= 2)
        }
        #expect(begun == 2, "an eighth of the threads")
    }

    @Test("C92 while work on a disk is stuck, the disk has one place, and with all of its threads stuck none")
    mutating func onePlace() {
        schedule = DiskSchedule(.init())
        for folder in 0..<80 {
            disks["\(folder)"] = "hung"
            submit("\(folder)/x")
        }
        var begun = [begin().count]
        for second in 1...7 {
            replaceStuck(at: second)
            begun.append(begin(at: second).count)
        }
        #expect(begun == [3, 1, 1, 1, 1, 1, 0, 0])
        #expect(schedule.stuck == 8)
    }

    @Test("C92 a folder that turns out to be on another disk moves there, with its work")
    mutating func moved() {
        for folder in ["a", "b", "c", "d"] { disks[folder] = "disk" }
        submit("a/1", "a/2", "b/1", "c/1", "d/1")
        #expect(begin() == ["a/1", "b/1"])
        end("b/1")
        #expect(begin() == ["c/1"])
        end("c/1")
        #expect(begin() == ["d/1"])
        #expect(stuckDisks(at: .seconds(1)) == ["disk"])
        submit("b/1", "c/1")
        #expect(begin(at: 1) == [], "the disk has its part of the threads")
        #expect(Set(schedule.places(on: "disk").map(\.folder)) == ["a", "b", "c", "d"])
        schedule.move("a", to: "hung")
        schedule.move("a", to: "hung")
        #expect(schedule.places(on: "hung").map(\.folder) == ["a"])
        schedule.move("unknown", to: "hung")
        #expect(begin(at: 1) == ["b/1", "a/2"])
        end("d/1")
        #expect(begin(at: 1) == ["c/1"])
        end("a/1", "a/2", "b/1", "c/1")
        #expect(schedule.waiting == 0 && schedule.stuck == 0)
        submit("a/1", "a/2", "b/1")
        #expect(begin(at: 1) == ["a/1", "b/1"], "what is idle is forgotten")
    }

    @Test("work that is withdrawn is not done, and what comes after it is")
    mutating func withdrawn() throws {
        submit("a/1#1", "a/1#2", "a/1#3", "b/1")
        #expect(begin() == ["a/1#1", "b/1"])
        let first = try #require(tickets["a/1#1"])
        #expect(schedule.withdraw(first, at: place("a/1#1")) == nil, "it has begun")
        let second = try #require(tickets["a/1#2"])
        #expect(schedule.withdraw(second, at: place("a/1#2")) == "a/1#2")
        #expect(schedule.withdraw(second, at: place("a/1#2")) == nil)
        #expect(schedule.waiting == 1)
        end("a/1#1")
        #expect(begin() == ["a/1#3"])
        // The last work of a file, and of a folder.
        submit("c/1", "d/1", "d/2")
        #expect(begin() == ["c/1"])
        for name in ["d/1", "d/2"] { #expect(schedule.withdraw(try #require(tickets[name]), at: place(name)) == name) }
        end("b/1", "c/1", "a/1#3")
        #expect(begin() == [])
        submit("d/1", "d/2")
        #expect(begin() == ["d/1", "d/2"])
    }

    @Test("work is neither lost nor done twice, in any order of what happens", arguments: 0..<50)
    mutating func anyOrder(seed: UInt64) {
        var random = SeededRandom(seed)
        var (submitted, begun, withdrawn) = (0, Set<String>(), 0)
        var running: [String] = []
        for step in 0..<400 {
            switch random.int(0...5) {
            case 0...2:
                submitted += 1
                submit("\(random.int(0...4))/\(random.int(0...3))#\(submitted)")
            case 3:
                guard let name = running.randomElement(using: &random) else { break }
                running.removeAll { $0 == name }
                end(name)
            case 4:
                replaceStuck(at: step / 10)
                if random.int(0...3) == 0 { schedule.move("\(random.int(0...4))", to: "\(random.int(0...2))") }
            default:
                guard let (name, ticket) = tickets.sorted(by: { $0.value < $1.value }).randomElement(using: &random),
                    schedule.withdraw(ticket, at: place(name)) != nil
                else { break }
                withdrawn += 1
            }
            for name in begin(at: step / 10) {
                #expect(begun.insert(name).inserted)
                #expect(!running.contains { place($0) == place(name) }, "two at once on one file")
                running.append(name)
            }
            #expect(running.count - schedule.stuck <= 3)
        }
        while let name = running.popLast() {
            end(name)
            running += begin(at: 100).filter { begun.insert($0).inserted }
        }
        #expect(begun.count + withdrawn == submitted && schedule.waiting == 0)
    }
}

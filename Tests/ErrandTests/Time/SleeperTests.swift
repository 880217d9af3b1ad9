@testable import Errand
import ErrandTestSupport
import Testing

@Suite("The sleep until the earliest alarm") struct SleeperTests {
    /// Creating the task of a sleep and keeping it are two steps. Here all others come between those of the first.
    @Test("two sleeps until the same instant: the task of the first, which has ended, does not take the second's place")
    func sameInstant() throws {
        let sleeper = Steps()
        let first = try #require(sleeper.begin(until: .ms(5)))
        #expect(sleeper.end(first.number), "the task of the first sleep wakes at once, and fires its alarms")
        let second = try #require(sleeper.begin(until: .ms(5)))
        #expect(!sleeper.keep("the first", of: first.number), "it has ended")
        #expect(sleeper.keep("the second", of: second.number), "it would be cancelled, and no alarm would fire again")
        #expect(sleeper.end(second.number))
    }

    @Test("a sleep that ends earlier replaces the current one, whose task is cancelled; a later one is not needed")
    func earlier() throws {
        let sleeper = Steps()
        let late = try #require(sleeper.begin(until: .ms(9)))
        #expect(late.replaced == nil)
        #expect(sleeper.keep("late", of: late.number))
        #expect(sleeper.begin(until: .ms(9)) == nil && sleeper.begin(until: .ms(10)) == nil)
        let early = try #require(sleeper.begin(until: .ms(8)))
        #expect(early.replaced == "late")
        #expect(!sleeper.end(late.number), "it was replaced, and fires nothing")
        #expect(sleeper.end(early.number))
        #expect(sleeper.begin(until: .ms(20)) != nil, "after the end, the next alarm needs a sleep again")
    }

    @Test("a sleep that is replaced before its task is kept: the task is cancelled then, and its end fires nothing")
    func replacedEarly() throws {
        let sleeper = Steps()
        let late = try #require(sleeper.begin(until: .ms(9)))
        let early = try #require(sleeper.begin(until: .ms(8)))
        #expect(early.replaced == nil, "there is no task yet")
        #expect(!sleeper.keep("late", of: late.number))
        #expect(sleeper.keep("early", of: early.number))
        #expect(!sleeper.end(late.number))
        #expect(sleeper.end(early.number))
    }
}

/// Takes one step after the other, in the order in which the test forces them.
private final class Steps {
    private var sleeper = Sleeper<String>()

    func begin(until instant: Instant) -> (number: UInt64, replaced: String?)? {
        sleeper.begin(until: instant)
    }
    func keep(_ task: String, of number: UInt64) -> Bool { sleeper.keep(task, of: number) }
    func end(_ number: UInt64) -> Bool { sleeper.end(number) }
}

import Errand
import ErrandTestSupport
import Testing

@Suite("Instants and durations") struct InstantTests {
    @Test("arithmetic saturates instead of overflowing")
    func saturation() {
        let (past, future) = (Instant(nanoseconds: .min), Instant.distantFuture)
        #expect(future.advanced(by: .nanoseconds(1)) == future)
        #expect(Instant.zero.advanced(by: .seconds(Int64.max)) == future)
        #expect(past.advanced(by: .nanoseconds(-1)) == past)
        #expect(Instant.zero.advanced(by: .seconds(Int64.min)).nanoseconds == .min)
        #expect(past.duration(to: future) == .nanoseconds(Int64.max))
        #expect(future.duration(to: past) == .nanoseconds(Int64.min))
        #expect(Instant.ms(3).advanced(by: .milliseconds(-5)) == Instant(nanoseconds: -2_000_000))
        #expect(Instant.ms(5).duration(to: .ms(3)) == .milliseconds(-2))
        #expect(past < .zero && .zero < future)
    }

    @Test("a duration in whole nanoseconds stays within the representable range")
    func wholeNanoseconds() {
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
        #expect(Duration.nanoseconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.nanoseconds(Int64.min).wholeNanoseconds == .min)
        #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).wholeNanoseconds == .max)
        #expect((Duration.nanoseconds(Int64.min) - .nanoseconds(1)).wholeNanoseconds == .min)
        #expect(Duration.seconds(1e19).wholeNanoseconds == .max)
        #expect(Duration.seconds(-1e20).wholeNanoseconds == .min)
        #expect(Duration.seconds(1e19).inSeconds == Double(Int64.max))
        #expect(Duration.seconds(-1e19).displayText == "-9223372036.854 s")
        #expect(Duration.milliseconds(-1500).wholeNanoseconds == -1_500_000_000)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 999_999_999).wholeNanoseconds == 0)
    }

    @Test(
        "durations are formatted as people say them",
        arguments: [
            (.zero, "0 ms"), (.nanoseconds(1), "1 ns"), (.nanoseconds(999), "999 ns"), (.microseconds(250), "250 µs"),
            (.milliseconds(250), "250 ms"), (.milliseconds(999), "999 ms"), (.seconds(1), "1 s"),
            (.milliseconds(1500), "1.5 s"), (.milliseconds(1050), "1.05 s"), (.milliseconds(61_001), "61.001 s"),
            (.milliseconds(-250), "-250 ms"), (.milliseconds(-1500), "-1.5 s"), (.seconds(3600), "3600 s"),
            (.seconds(Int64.max), "9223372036.854 s"), (.seconds(Int64.min), "-9223372036.854 s"),
        ] as [(Duration, String)])
    func displayText(duration: Duration, text: String) {
        #expect(duration.displayText == text)
    }
}

#if os(Linux)
import CCurl
import ErrandTestSupport
import Testing

/// What the C side decides, over values.
@Suite("Decisions of the engine on libcurl") struct CurlDecisionTests {
    private func judged(_ configure: (inout ccurl_kept_connection) -> Void) -> ccurl_fitness {
        var kept = ccurl_kept_connection()
        // It has been silent: a wait that has reported all began after its last response.
        (kept.is_http1, kept.is_watched, kept.idle_since, kept.waits, kept.looked) = (true, true, 4, 5, 5)
        configure(&kept)
        return ccurl_connection_fitness(&kept)
    }

    @Test("C34: a kept connection is fit if it is known to be silent, or if the system says so")
    func keptConnections() {
        #expect(judged { _ in } == CCURL_FIT)
        #expect(judged { $0.idle_since = 0 } == CCURL_FIT_IF_SILENT)
        #expect(judged { $0.idle_since = 5 } == CCURL_FIT_IF_SILENT)
        #expect(judged { $0.waits = 6 } == CCURL_FIT_IF_SILENT)
        #expect(judged { $0.is_watched = false } == CCURL_FIT_IF_SILENT)
        #expect(judged { $0.is_on_callers_thread = true } == CCURL_FIT_IF_SILENT)
        // What comes unasked on the others belongs to no response.
        #expect(judged { ($0.is_http1, $0.idle_since) = (false, 0) } == CCURL_FIT)
        for isHTTP1 in [true, false] {
            #expect(judged { ($0.is_http1, $0.is_excluded) = (isHTTP1, true) } == CCURL_UNFIT)
            #expect(judged { ($0.is_http1, $0.has_ended) = (isHTTP1, true) } == CCURL_UNFIT)
        }
    }

    private static let second: Int64 = 1_000_000

    @Test("C44: two connections in a row that took about as many requests show how many each takes")
    func turnover() {
        var (turnover, now) = (ccurl_turnover(), Self.second)
        func limit(after refusals: (connection: UInt64, number: Int64)...) -> Int64 {
            for refusal in refusals { ccurl_turnover_note(&turnover, refusal.connection, refusal.number, now) }
            return ccurl_turnover_limit(&turnover, now)
        }
        #expect(limit() == 0)
        #expect(limit(after: (7, 1003), (7, 1001), (7, 1002)) == 0)
        // Of the first that was refused nothing was noticed here, and nothing of the fourth there.
        #expect(limit(after: (8, 1002)) == 999)
        #expect(limit(after: (9, 1004)) == 999)
        #expect(limit(after: (9, 1001), (10, 1001)) == 999)
        // The server may have changed.
        now += 3600 * Self.second
        #expect(limit() == 999)
        now += 1
        #expect(limit() == 0)
        #expect(limit(after: (11, 1001)) == 999)
        // It takes fewer now.
        #expect(limit(after: (12, 101)) == 0)
        #expect(limit(after: (13, 101)) == 99)
        // Ends for other reasons.
        for (index, number) in [3, 700, 40, 3000, 1, 3, 6, 10, 3, 9, 17].enumerated() {
            #expect(limit(after: (UInt64(index + 100), Int64(number))) == 0)
        }
        // So few are not worth it.
        for number in 1...6 {
            let connection = 200 + 2 * UInt64(number)
            #expect(limit(after: (connection, Int64(number)), (connection + 1, Int64(number))) == 0)
        }
        #expect(limit(after: (302, 7), (303, 7)) == 5)
        #expect(limit(after: (304, 8), (305, 8)) == 6)
    }

    @Test("C44: a spent connection takes nothing for a second, and then what only reads")
    func spent() {
        #expect(judged { ($0.is_http1, $0.is_spent) = (false, true) } == CCURL_UNFIT)
        for isSafe in [true, false] {
            #expect(!ccurl_is_spent(19, 20, isSafe, 0) && ccurl_is_spent(20, 20, isSafe, 0))
            #expect(!ccurl_is_spent(20, 0, isSafe, 0))
        }
        #expect(ccurl_is_spent(20, 20, true, Self.second - 1) && !ccurl_is_spent(20, 20, true, Self.second))
        #expect(ccurl_is_spent(20, 20, false, 1000 * Self.second))
    }

    @Test(
        "C44: a connection has been silent if no response came in the second half of the wait",
        arguments: [
            (now: 1000, answered: 0, limit: 0, isSilent: true), (1000, 500, 0, true), (1000, 501, 0, false),
            // The limit is the longest silence, and the body may have begun long before.
            (1000, 899, 100, true), (1000, 950, 100, true), (1000, 951, 100, false), (1000, 600, 2000, false),
        ])
    func silence(now: Int64, answered: Int64, limit: Int64, isSilent: Bool) {
        #expect(ccurl_was_silent(now, 0, answered, limit) == isSilent)
    }

    private func isTooLate(_ configure: (inout ccurl_death) -> Void) -> Bool {
        var death = ccurl_death()
        (death.acknowledged_before, death.acknowledged, death.sent, death.unacknowledged) = (70, 70, 40, 40)
        configure(&death)
        return ccurl_was_sent_too_late(&death)
    }

    @Test("C41: the server has seen nothing only if none of it was acknowledged, and there was no reset")
    func death() {
        #expect(isTooLate { _ in })
        #expect(!isTooLate { $0.acknowledged = 71 })
        #expect(!isTooLate { $0.has_other_error = true })
        // The system does not know.
        #expect(!isTooLate { ($0.acknowledged_before, $0.acknowledged) = (-1, -1) })
        let notAsked = Int64(CCURL_NOT_ASKED)
        #expect(isTooLate { $0.acknowledged_before = notAsked })
        #expect(isTooLate { ($0.acknowledged_before, $0.unacknowledged) = (notAsked, 41) })
        #expect(!isTooLate { ($0.acknowledged_before, $0.unacknowledged) = (notAsked, 39) })
        #expect(!isTooLate { ($0.acknowledged_before, $0.unacknowledged) = (notAsked, -1) })
        #expect(!isTooLate { ($0.acknowledged_before, $0.sent, $0.unacknowledged) = (notAsked, 0, 0) })
    }

    private func repetition(_ configure: (inout ccurl_second_send) -> Void) -> ccurl_repetition {
        var send = ccurl_second_send()
        send.is_encrypted = true
        configure(&send)
        return ccurl_repetition_of(&send)
    }

    @Test("C42: a request that acts was refused only if no other request had joined its new connection")
    func repetitions() {
        #expect(repetition { $0.is_on_new_connection = true } == CCURL_REFUSED)
        #expect(repetition { ($0.is_on_new_connection, $0.is_joined) = (true, true) } == CCURL_DIED)
        #expect(repetition { ($0.is_on_new_connection, $0.has_words) = (true, true) } == CCURL_DIED)
        #expect(repetition { ($0.has_words, $0.asks_for_http1) = (true, true) } == CCURL_DOWNGRADED)
        #expect(repetition { _ in } == CCURL_DIED)
        #expect(repetition { $0.is_safe = true } == CCURL_REFUSED)
        #expect(repetition { ($0.is_safe, $0.was_on_kept_http1) = (true, true) } == CCURL_DIED)
        #expect(repetition { ($0.is_safe, $0.is_encrypted) = (true, false) } == CCURL_DIED)
    }

    private func isWhole(_ configure: (inout ccurl_early_end) -> Void) -> Bool {
        var end = ccurl_early_end()
        (end.result, end.has_whole_head) = (CCURLE_HTTP2_STREAM, true)
        configure(&end)
        return ccurl_is_whole_response(&end)
    }

    @Test("C42: a response that came early is whole by its length, or by the end of its stream")
    func earlyResponses() {
        #expect(isWhole { _ in })
        #expect(!isWhole { $0.has_words = true })
        #expect(!isWhole { $0.is_paused = true })
        #expect(!isWhole { $0.has_whole_head = false })
        #expect(!isWhole { $0.result = CCURLE_PARTIAL_FILE })
        for result in [CCURLE_HTTP2, CCURLE_HTTP2_STREAM, CCURLE_PARTIAL_FILE, CCURLE_SEND_ERROR, CCURLE_RECV_ERROR] {
            #expect(isWhole { ($0.result, $0.has_length, $0.has_whole_body) = (result, true, true) })
            #expect(!isWhole { ($0.result, $0.has_length) = (result, true) })
        }
        for result in [CCURLE_OPERATION_TIMEDOUT, CCURLE_OUT_OF_MEMORY, CCURLE_WRITE_ERROR] {
            #expect(!isWhole { ($0.result, $0.has_length, $0.has_whole_body) = (result, true, true) })
        }
    }

    @Test("C93: of the connections that keep the thread busy, the one that has waited for longest is served first")
    func turns() {
        #expect(ccurl_longest_waiting([5], 1) == 0)
        #expect(ccurl_longest_waiting([5, 3, 9], 3) == 1)
        #expect(ccurl_longest_waiting([5, 9, 0], 3) == 2)
        // Of two, the first.
        #expect(ccurl_longest_waiting([3, 3], 2) == 0)
        // Each of several has its turn.
        var served: [Int64] = [0, 0, 0, 0, 0]
        for now in 1...25 { served[Int(ccurl_longest_waiting(served, 5))] = Int64(now) }
        #expect(served == [21, 22, 23, 24, 25])
    }

    @Test("C93: small pieces of all transfers have three milliseconds together, large ones twenty each")
    func shares() {
        #expect(!ccurl_has_used_share(32, 32, 2999, 2999))
        #expect(ccurl_has_used_share(32, 32, 0, 3000))
        #expect(!ccurl_has_used_share(32, 32 * 4096, 19_999, 50_000))
        #expect(ccurl_has_used_share(32, 32 * 4096, 20_000, 20_000))
        #expect(ccurl_has_used_share(32, 32 * 4096 - 1, 3000, 3000))
    }

    @Test("a connection floods if it keeps the thread for fifty milliseconds, and for two seconds where it may be slow")
    func floods() {
        #expect(ccurl_flood_stage_of(49_999, false, true) == CCURL_NO_FLOOD)
        #expect(ccurl_flood_stage_of(50_000, false, false) == CCURL_SUSPECTED_FLOOD)
        #expect(ccurl_flood_stage_of(50_000, false, true) == CCURL_FLOOD)
        #expect(ccurl_flood_stage_of(1_999_999, true, true) == CCURL_NO_FLOOD)
        #expect(ccurl_flood_stage_of(2_000_000, true, true) == CCURL_FLOOD)
        #expect(ccurl_may_end_flood(50_000, true) && !ccurl_may_end_flood(2_000_000, false))
        #expect(ccurl_may_end_flood(2_000_001, false))
    }

    private func choice(_ configure: (inout ccurl_used_handle) -> Void) -> ccurl_handle_choice {
        var used = ccurl_used_handle()
        (used.was_started, used.has_shared_options, used.tells_connected) = (true, true, true)
        configure(&used)
        return ccurl_choose_handle(&used)
    }

    @Test("C94: a handle is used again with its options, without them, or not at all")
    func handles() {
        #expect(choice { _ in } == CCURL_KEPT_HANDLE)
        #expect(choice { $0.has_shared_options = false } == CCURL_BARE_HANDLE)
        #expect(choice { $0.tells_connected = false } == CCURL_BARE_HANDLE)
        #expect(choice { $0.is_gone = true } == CCURL_NEW_HANDLE)
        #expect(choice { $0.is_repeating = true } == CCURL_NEW_HANDLE)
        #expect(choice { $0.has_header_fault = true } == CCURL_NEW_HANDLE)
        #expect(choice { ($0.has_header_fault, $0.was_started) = (true, false) } == CCURL_KEPT_HANDLE)
    }

    @Test("a stream is read in large pieces, and so are the responses of a server that has sent large ones")
    func readSizes() {
        #expect(ccurl_read_size(false, false) == CCURL_SMALL_READ)
        #expect(ccurl_read_size(true, false) == CCURL_LARGE_READ)
        #expect(ccurl_read_size(false, true) == CCURL_LARGE_READ)
    }

    @Test(
        "memory for a body is what is announced, but never much more than has come",
        arguments: [
            (room: 0, wanted: 10, announced: Int64(-1), result: 10), (100, 110, -1, 200), (100, 500, -1, 500),
            (0, 10, 5000, 5000), (0, 10, 5_000_000, 1 << 20), (1 << 20, (1 << 20) + 1, 5_000_000, 2 << 20),
            (2 << 20, (2 << 20) + 1, 3_000_000, 3_000_000),
            // More has come than was announced.
            (100, 110, 105, 200),
        ])
    func bodyCapacity(room: Int, wanted: Int, announced: Int64, result: Int) {
        #expect(ccurl_body_capacity(room, wanted, announced) == result)
    }
}
#endif

#if os(Linux)
import ChildProcess
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How many system calls a call makes, beside a bare libcurl loop, and how many of them are about a lock that was not
/// free or a thread that waits for another. `perf` counts those of the process that makes the
/// calls; the server is another one. `strace` would make them so slow that they no longer overlap.
enum SystemCallBench {
    private static let tasks = [1, 16, 64]
    private static let cycles = 3
    /// A short run and a long one, in seconds: what only the start of a process needs is in both.
    private static let short = 0.4, long = 1.2

    static func run(_ url: String, into report: inout Report) throws {
        // Without the right to trace the system, perf counts none.
        guard let probe = try? count("true", []), probe.all > 0 else {
            let words = Array("system calls are not counted: perf is not installed, or may not trace\n".utf8)
            _ = write(2, words, words.count)
            return
        }
        for tasks in tasks {
            var (own, bare, waits): ([Double], [Double], [Double]) = ([], [], [])
            for _ in 0..<cycles {
                let calls = try systemCalls(Child.own, ["worker", "calls", url, "\(tasks)"])
                own.append(calls.all)
                waits.append(calls.futex)
                bare.append(try systemCalls(Child.sibling("wire-peer"), ["loop", url, "\(tasks)"]).all)
            }
            let meaning = "with \(tasks) task\(tasks == 1 ? "" : "s")"
            report.add("wire.system_calls_per_call_\(tasks)", .number(median(own)), "system calls per call \(meaning)")
            report.add("wire.lock_waits_per_call_\(tasks)", .number(median(waits)), "those about locks and threads")
            report.add("wire.libcurl_system_calls_per_call_\(tasks)", .number(median(bare)), "likewise, libcurl alone")
        }
    }

    private static let (event, futex) = ("raw_syscalls:sys_enter", "syscalls:sys_enter_futex")

    private struct Figures {
        var calls: Double?
        var all, futex: Double
    }

    /// Returns how many more the long run makes, for each call that it makes more.
    private static func systemCalls(
        _ program: String, _ arguments: [String]
    ) throws -> (all: Double, futex: Double) {
        let first = try count(program, arguments + ["\(short)"])
        let second = try count(program, arguments + ["\(long)"])
        guard let calls = first.calls, let moreCalls = second.calls else {
            throw Child.Failure(description: "\(program) said nothing")
        }
        let more = moreCalls - calls
        return ((second.all - first.all) / more, (second.futex - first.futex) / more)
    }

    /// Returns the number of calls that the program prints, if it does, and that of its system calls.
    private static func count(_ program: String, _ arguments: [String]) throws -> Figures {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(getpid())-perf").path
        // A file that cannot be removed stays in a folder that the system empties.
        defer { try? FileManager.default.removeItem(atPath: file) }
        let child = try Child("perf", ["stat", "-x", ",", "-e", event, "-e", futex, "-o", file, program] + arguments)
        let calls = child.line().first.flatMap(Double.init)
        _ = try child.end()
        // The number is the first of the columns in the line of an event.
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        func number(of event: String) throws -> Double {
            let columns = lines.last { $0.contains(event) }?.split(separator: ",") ?? []
            guard let number = columns.first.flatMap({ Double($0) }) else {
                throw Child.Failure(description: "perf said nothing about \(program)")
            }
            return number
        }
        return Figures(calls: calls, all: try number(of: event), futex: try number(of: futex))
    }
}
#endif

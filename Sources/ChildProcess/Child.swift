#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A child process whose first line of output and whose processor time are read.
package struct Child: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// This program.
    package static let own =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]

    /// The path of a program that was built beside this one.
    package static func sibling(_ name: String) -> String {
        own.lastIndex(of: "/").map { own[...$0] + name } ?? name
    }

    /// Writes a line for the parent process, which waits for it.
    package static func tellParent(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(1, bytes, bytes.count)
    }

    /// Waits until the parent process has exited, for whatever reason.
    package static func waitForParentsEnd() async throws {
        let parent = getppid()
        while getppid() == parent { try await Task.sleep(for: .milliseconds(500)) }
    }

    private let name: String
    private let process: pid_t
    private let output: CInt

    /// Starts a program with its arguments.
    package init(_ program: String, _ arguments: [String]) throws {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure(description: "no pipe") }
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        #else
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        #if canImport(Darwin)
        let environment = _NSGetEnviron().pointee
        #else
        let environment = environ
        #endif
        let result = posix_spawnp(&process, program, &actions, nil, &words, environment)
        close(ends[1])
        guard result == 0 else { throw Failure(description: "\(program) could not be started") }
        name = ([program] + arguments).joined(separator: " ")
        self.process = process
        output = ends[0]
    }

    /// Returns the words of its first line of output.
    package func line() -> [String] {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self).split(separator: " ").map(String.init)
    }

    /// Waits for its end and returns the processor time that it used, in seconds.
    package func end() throws -> Double {
        close(output)
        var (status, usage): (CInt, rusage) = (0, rusage())
        guard wait4(process, &status, 0, &usage) == process, status == 0 else {
            throw Failure(description: "\(name) ended with \(status)")
        }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// Kills the process with SIGKILL: a process that is started from a thread of Dispatch inherits a signal mask that
    /// blocks SIGTERM.
    package func kill() {
        #if canImport(Darwin)
        _ = Darwin.kill(process, SIGKILL)
        #elseif canImport(Glibc)
        _ = Glibc.kill(process, SIGKILL)
        #else
        _ = Musl.kill(process, SIGKILL)
        #endif
        close(output)
        var status: CInt = 0
        waitpid(process, &status, 0)
    }
}

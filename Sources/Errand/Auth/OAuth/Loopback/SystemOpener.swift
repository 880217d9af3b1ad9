#if os(Linux) || os(macOS)
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

/// Opens addresses with the user's browser.
enum SystemOpener {
    #if os(macOS)
    private static let program = "open"
    #else
    private static let program = "xdg-open"
    #endif

    /// Asks the system to open the address, and does not wait for it: some browsers run in the program that opens them.
    /// Nothing happens on a machine without a browser.
    ///
    /// A shell starts the program and ends at once, so that no zombie is left. The address is an argument, which the
    /// shell does not read.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - path: The folders of programs; if `nil`, those of this process.
    static func open(_ address: String, path: String? = nil) {
        let script = "exec </dev/null >/dev/null 2>&1; \(program) \"$1\" &"
        let arguments: [String] = ["/bin/sh", "-c", script, "sh", address]
        var words = arguments.map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment
        if let path { environment["PATH"] = path }
        var settings = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var id = pid_t()
        guard posix_spawn(&id, "/bin/sh", nil, nil, &words, &settings) == 0 else { return }
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
    }
}
#endif

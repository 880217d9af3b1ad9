#if os(Linux)
import Errand
import Foundation
package import Testing

/// The libcurl that the tests use: the system's, or the one that the environment names.
///
/// A test that is skipped because of it says why in one of two ways, which `.ci/libcurls` compares with the article on
/// versions: `libcurl before 7.80: …` names a row of the article's table, with what the transport lacks there, and
/// `nothing to test: …` says that users meet no difference.
package enum InstalledLibrary {
    /// Its path.
    package static var path: String {
        get throws {
            try #require(CurlTransport.libraryVersion != nil)
            if let chosen { return chosen }
            // The system reports a size of zero for this file, so it is read to its end.
            let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
            let map = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            let line = try #require(map.split(separator: "\n").first { $0.contains("/libcurl.so.4") })
            return try #require(line.firstIndex(of: "/").map { String(line[$0...]) })
        }
    }

    /// Its version: 0x075801 is 7.88.1. Without a library that can be opened, 0.
    package static let version = read(UInt32.self, at: 16).map(Int.init) ?? 0

    /// Whether it was built with HTTP/2, and the transport uses that.
    package static let speaksHTTP2 = announcesRequests && (read(CInt.self, at: 32) ?? 0) & 1 << 16 != 0
    package static let speaksNoHTTP2: Comment =
        announcesRequests ? "libcurl built without HTTP/2: requests go over HTTP/1.1" : announcesNothing

    /// Whether it was built with HTTP/3, and the transport uses that.
    package static let speaksHTTP3 = version >= 0x081700 && (read(CInt.self, at: 32) ?? 0) & 1 << 25 != 0
    package static let speaksNoHTTP3: Comment = "libcurl before 8.23, or built without HTTP/3: HTTP/3 is not used"

    /// Whether it says why a server has reset a stream.
    package static let explainsResets = !(0x080100..<0x080200).contains(version)
    package static let explainsNoReset: Comment = "libcurl 8.1: it does not say why a server has reset a stream"

    /// Whether it keeps a response that ends before its request has been sent, and lets other transfers go on beside a
    /// body in frames of a byte. 8.8 is the first later one that could be tried, without HTTP/2, and 8.12.1 does.
    package static let handlesStreams = !(0x080100..<0x080800).contains(version)
    package static let handlesNoStreams: Comment =
        "libcurl 8.1 to 8.6: it can lose early responses, and serves one stream for long"

    /// Whether it notices that TLS's closing alert ends a response without a length.
    package static let noticesAlerts = !(0x080500..<0x080800).contains(version)
    package static let noticesNoAlert: Comment = "libcurl 8.6: it does not notice that a closing alert ends a response"

    /// Whether it announces a request before it sends it (7.80 and later), so that a connection can be looked at first.
    /// Before, each request has a connection of its own, under HTTP/1.1.
    package static let announcesRequests = version >= 0x075000
    package static let announcesNothing: Comment = "libcurl before 7.80: each request has a connection of its own"

    /// Whether connections over TLS are used again under HTTP/1.1.
    package static let keepsTLS = announcesRequests && canAskTLS
    package static let keepsNoTLS: Comment =
        announcesRequests
        ? "libcurl with its TLS library linked in: no connection over TLS is used again" : announcesNothing
    /// Whether it checks that a connection is alive which it used a moment ago. 8.21.0 does, and 8.22.0 does not.
    package static let checksRecentConnections = version < 0x081600
    package static let checksNone: Comment =
        "nothing to test: this libcurl does not check connections that it used a moment ago"

    /// Whether it says that a request went through a proxy. Those that may hide more about a proxy do (8.13 to 8.18).
    package static let tellsProxies = version >= 0x080700
    package static let tellsNoProxy: Comment = "nothing to test: before 8.13, libcurl hides nothing of a proxy"

    /// Whether what its TLS library writes to a broken connection raises SIGPIPE (before 7.88).
    package static let raisesPipeSignal = version < 0x075800
    package static let raisesNone: Comment = "nothing to test: from 7.88 on, libcurl sends without SIGPIPE"

    /// Whether it is the system's: a distribution fixes faults without a new version.
    package static let isSystems = chosen == nil

    /// Whether its TLS library can be asked about a connection. It cannot if it is linked into libcurl.
    package static let canAskTLS: Bool = {
        let library = dlopen(chosen ?? "libcurl.so.4", RTLD_LAZY | RTLD_LOCAL)
        return dlsym(library, "SSL_has_pending") != nil || dlsym(library, "gnutls_record_check_pending") != nil
    }()
    package static let leavesNoHandlerOut: Comment =
        "libcurl with its TLS library linked in: a program that ends meanwhile can crash"

    private static var chosen: String? {
        ProcessInfo.processInfo.environment["ERRAND_LIBCURL"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a field of libcurl's `curl_version_info_data`.
    private static func read<Field>(_ type: Field.Type, at offset: Int) -> Field? {
        typealias Function = @convention(c) (CInt) -> UnsafeRawPointer?
        let library = dlopen(chosen ?? "libcurl.so.4", RTLD_LAZY | RTLD_LOCAL)
        guard let function = dlsym(library, "curl_version_info") else { return nil }
        return unsafeBitCast(function, to: Function.self)(0)?.load(fromByteOffset: offset, as: type)
    }
}
#endif

#if os(Linux)
import Errand
import Foundation
import Testing

/// The libcurl that this process has loaded.
enum InstalledLibrary {
    /// Its path.
    static var path: String {
        get throws {
            try #require(CurlTransport.libraryVersion != nil)
            // The system reports a size of zero for this file, so it is read to its end.
            let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
            let map = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            let line = try #require(map.split(separator: "\n").first { $0.contains("/libcurl.so.4") })
            return try #require(line.firstIndex(of: "/").map { String(line[$0...]) })
        }
    }
}
#endif
